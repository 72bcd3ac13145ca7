// What a lock costs that passes from one thread to another:
//
//   hand_over            its cache line comes from there, and those of what it guards
//   + waiting x a_waiter each further thread that spins reads the line that is written: Boyd-Wickizer,
//                        Kaashoek, Morris, Zeldovich, "Non-scalable locks are dangerous" (Linux Symposium
//                        2012). No more of them count than `cores`, since SMT siblings read from one cache
//   x remote_factor      from another socket
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

struct HandOver {
  Ps hand_over = 0;
  Ps a_waiter = 0;
  double remote_factor = 1;
  std::uint32_t cores = UINT32_MAX;

  [[nodiscard]] Ps cost(std::size_t waiting, bool from_other_socket) const {
    const Ps near = hand_over + static_cast<Ps>(std::min<std::size_t>(waiting, cores)) * a_waiter;
    return from_other_socket ? std::llround(static_cast<double>(near) * remote_factor) : near;
  }
};

}  // namespace rkv::sim
