// Draws sizes in bytes from a SizeDistribution of the scenario. Thread-safe, each thread with its own Rng.
#pragma once

#include <cstdint>
#include <vector>

#include "core/scenario/scenario.hpp"
#include "core/workload/rng.hpp"

namespace rkv {

class SizeSampler {
 public:
  explicit SizeSampler(const SizeDistribution& distribution);

  // Allocates nothing. Continuous distributions are rounded to the nearest byte.
  [[nodiscard]] std::uint32_t operator()(Rng& rng) const;

 private:
  [[nodiscard]] std::uint32_t clamped(double bytes) const;

  SizeDistribution distribution_;
  std::vector<double> cumulative_;  // of discrete_weights; for `discrete` the last one is 1
};

}  // namespace rkv
