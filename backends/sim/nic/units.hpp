// k servers, first come first served: the card's processing units, the misses it can have under way. A
// request is served by the unit that is free first (ties: the lowest number), or by one that it is bound to:
//
//   start = max(now, earliest free),  end = start + work
//
// Requests are to be made in the order of `now`. Source of the count: Kong et al., "Understanding RDMA
// microarchitecture resources for performance isolation" (NSDI 2023); Kalia et al., "Design
// guidelines for high performance RDMA systems" (ATC 2016): a queue pair's requests stay with one
// unit there (nic.units_by_queue_pair).
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
    return serve_by(static_cast<std::uint32_t>(first - free_at_.begin()), now, work);
  }
  Service serve_by(std::uint32_t unit, Ps now, Ps work) {
    const Ps start = std::max(now, free_at_[unit]);
    free_at_[unit] = start + work;
    return {.unit = unit, .start = start, .end = free_at_[unit]};
  }
  [[nodiscard]] std::size_t count() const { return free_at_.size(); }

 private:
  std::vector<Ps> free_at_;
};

}  // namespace rkv::sim
