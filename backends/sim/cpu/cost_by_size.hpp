// Costs of memory by how much of it is in use. Not thread-safe: a cost that was asked for is kept.
//
//   coming back    what a thread touches comes from the cache that holds what all have touched since, and not
//                  from its own (C. Li, C. Ding, K. Shen, "Quantifying the cost of context switch", ExpCS
//                  2007: the cost that grows with the working set), with the profile's table of lines,
//                  several of which are on their way at once (Y. Chou, B. Fahs, S. Abraham,
//                  "Microarchitecture optimizations for exploiting memory-level parallelism", ISCA 2004),
//                  while the table's come one after the other:
//
//                    footprint / 64 x (line(footprint x (others + 1)) - line(footprint)) / lines_at_once
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

inline constexpr double cache_line_bytes = 64;

// Costs against the logarithm of a size; beyond the table's ends constant.
class CostBySize {
 public:
  explicit CostBySize(const std::vector<MemoryProfile::CostAtSize>& table);  // ascending
  [[nodiscard]] Ps at(std::uint64_t bytes) const;

 private:
  std::vector<double> log_bytes_;
  std::vector<Ps> costs_;
  // The last answer: sizes change slowly.
  mutable std::uint64_t known_bytes_ = 0;
  mutable Ps known_cost_ = -1;
};

// For a thread that touches so much and comes back when so many others have touched as much each, with all
// but lines_at_once.
[[nodiscard]] Ps refill_cost(const CostBySize& lines, std::uint64_t footprint_bytes, std::uint64_t others);

}  // namespace rkv::sim
