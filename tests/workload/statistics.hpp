// Compares counts with what a law expects. Seeds are fixed, so a test either always passes or never does.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace rkv {

// Pearson's chi-square, in standard deviations above its mean (about 0 for the right law). Each expected
// count should be 5 or more.
inline double excess_of_chi_square(const std::vector<std::uint64_t>& counts,
                                   const std::vector<double>& probabilities, std::uint64_t draws) {
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * static_cast<double>(draws);
    const double difference = static_cast<double>(counts[i]) - expected;
    chi_square += difference * difference / expected;
  }
  const double freedom = static_cast<double>(counts.size() - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace rkv
