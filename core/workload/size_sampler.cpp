#include "core/workload/size_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace rkv {

SizeSampler::SizeSampler(const SizeDistribution& distribution) : distribution_(distribution) {
  const auto& weights = distribution.discrete_weights;
  cumulative_.resize(weights.size());
  std::partial_sum(weights.begin(), weights.end(), cumulative_.begin());
  if (distribution.kind == SizeDistribution::Kind::discrete) {
    const double sum = cumulative_.back();
    for (double& value : cumulative_) {
      value /= sum;
    }
  }
}

std::uint32_t SizeSampler::operator()(Rng& rng) const {
  const SizeDistribution& d = distribution_;
  const auto listed = [&](double u) {
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
    return static_cast<std::size_t>(found - cumulative_.begin());
  };
  switch (d.kind) {
    case SizeDistribution::Kind::fixed:
      return d.bytes;
    case SizeDistribution::Kind::uniform:
      return d.min_bytes +
             static_cast<std::uint32_t>(rng.below(std::uint64_t{d.max_bytes} - d.min_bytes + 1));
    case SizeDistribution::Kind::normal: {
      // Box and Muller, Annals of Mathematical Statistics 29(2), 1958; the second number is not kept, so that
      // a draw depends on nothing but the Rng.
      const double radius = std::sqrt(-2 * std::log(rng.positive_unit()));
      return clamped(d.mean_bytes + d.stddev_bytes * radius * std::cos(2 * std::numbers::pi * rng.unit()));
    }
    case SizeDistribution::Kind::generalised_pareto: {
      if (!cumulative_.empty()) {
        if (const std::size_t index = listed(rng.unit()); index < cumulative_.size()) {
          return d.discrete_bytes[index];
        }
      }
      // Inverse of F(x) = 1 - (1 + k (x - theta) / sigma)^(-1/k), at 1 - u.
      const double log_u = std::log(rng.positive_unit());
      const double excess = d.shape == 0 ? -log_u : std::expm1(-d.shape * log_u) / d.shape;
      return clamped(d.location + d.scale * excess);
    }
    case SizeDistribution::Kind::generalised_extreme_value: {
      // Inverse of F(x) = exp(-(1 + k (x - mu) / sigma)^(-1/k)).
      const double exponential = std::max(-std::log(rng.positive_unit()), 0x1p-60);  // 0 would be infinity
      const double log_e = std::log(exponential);
      const double deviation = d.shape == 0 ? -log_e : std::expm1(-d.shape * log_e) / d.shape;
      return clamped(d.location + d.scale * deviation);
    }
    case SizeDistribution::Kind::discrete:
      return d.discrete_bytes[std::min(listed(rng.unit()), d.discrete_bytes.size() - 1)];
  }
  return 0;
}

std::uint32_t SizeSampler::clamped(double bytes) const {
  const double low = distribution_.min_bytes;
  const double high = distribution_.max_bytes;
  return static_cast<std::uint32_t>(std::lround(std::clamp(bytes, low, high)));
}

}  // namespace rkv
