// Zipf-distributed ranks for any exponent theta >= 0, 1 and above included, without tables: rank r (from 0)
// has a probability proportional to 1 / (r + 1)^theta.
//
// Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
// discrete distributions", ACM TOMACS 6(3), 1996. A constant number of operations whatever the size; less
// than 1.2 random numbers a draw are needed on average. Draws may run in several threads, each with its own
// Rng.
#pragma once

#include <cstdint>

#include "core/workload/rng.hpp"

namespace rkv {

class ZipfDistribution {
 public:
  // count > 0
  ZipfDistribution(std::uint64_t count, double theta);

  // In [0, count).
  [[nodiscard]] std::uint64_t operator()(Rng& rng) const;

  // Changes the number of ranks: a few elementary functions.
  void resize(std::uint64_t count);

 private:
  [[nodiscard]] double density(double x) const;           // h(x) = x^-theta
  [[nodiscard]] double integral(double x) const;          // H(x), an antiderivative of h with H(1) = 0
  [[nodiscard]] double inverse_integral(double x) const;  // H^-1(x)

  double theta_;
  std::uint64_t count_ = 0;
  double integral_low_;       // H(1.5) - h(1): the first rank gets exactly its probability
  double integral_high_ = 0;  // H(count + 0.5)
  double shortcut_;           // ranks this close to x are accepted without another evaluation
};

}  // namespace rkv
