// k servers of one queue, first come first served: the card's processing units, the misses it can have under
// way. A request is served by the unit that is free first (ties: the lowest number):
//
//   start = max(now, earliest free),  end = start + work
//
// Requests are to be made in the order of `now`. Source of the count: Kong et al., "Understanding RDMA
// microarchitecture resources for performance isolation" (NSDI 2023); Kalia et al., "Design
// guidelines for high performance RDMA systems" (ATC 2016): a queue pair's requests stay with one
// unit there; here any unit takes any request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Units {
 public:
  // count: at least 1.
  explicit Units(std::uint32_t count) : free_at_(std::max(count, 1U)) {}

  struct Service {
    std::uint32_t unit = 0;
    Ps start = 0;
    Ps end = 0;
  };
  Service serve(Ps now, Ps work) {
    const auto first = std::min_element(free_at_.begin(), free_at_.end());
    const Ps start = std::max(now, *first);
    *first = start + work;
    return {.unit = static_cast<std::uint32_t>(first - free_at_.begin()), .start = start, .end = *first};
  }
  [[nodiscard]] std::size_t count() const { return free_at_.size(); }

 private:
  std::vector<Ps> free_at_;
};

}  // namespace rkv::sim
