#include "core/workload/zipf.hpp"

#include <algorithm>
#include <cmath>

namespace rkv {
namespace {

// expm1(x) / x and log1p(x) / x, continued at 0: they make theta = 1 an ordinary case.
double expm1_over(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2;
}
double log1p_over(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2;
}

}  // namespace

ZipfDistribution::ZipfDistribution(std::uint64_t count, double theta)
    : theta_(theta),
      integral_low_(integral(1.5) - 1),
      shortcut_(2 - inverse_integral(integral(2.5) - density(2))) {
  resize(count);
}

void ZipfDistribution::resize(std::uint64_t count) {
  count_ = count;
  integral_high_ = integral(static_cast<double>(count) + 0.5);
}

std::uint64_t ZipfDistribution::operator()(Rng& rng) const {
  while (true) {
    const double u = integral_high_ + rng.unit() * (integral_low_ - integral_high_);
    const double x = inverse_integral(u);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(count_));
    if (rank - x <= shortcut_ || u >= integral(rank + 0.5) - density(rank)) {
      return static_cast<std::uint64_t>(rank) - 1;
    }
  }
}

double ZipfDistribution::density(double x) const {
  return std::exp(-theta_ * std::log(x));
}

double ZipfDistribution::integral(double x) const {
  const double log_x = std::log(x);
  return expm1_over((1 - theta_) * log_x) * log_x;
}

double ZipfDistribution::inverse_integral(double x) const {
  const double t = std::max(x * (1 - theta_), -1.0);  // below -1 only by rounding
  return std::exp(log1p_over(t) * x);
}

}  // namespace rkv
