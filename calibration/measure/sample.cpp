#include "calibration/measure/sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rkv::calibration {
namespace {

constexpr std::size_t winsorized_part = 10;  // one in so many, at either end

double interquartile_range(const std::vector<double>& values) {
  return quantile(values, 0.75) - quantile(values, 0.25);
}

Estimate joined(const Estimate& a, const Estimate& b, double value) {
  return {value, std::hypot(a.spread, b.spread), std::min(a.samples, b.samples)};
}

}  // namespace

Estimate operator+(const Estimate& a, const Estimate& b) {
  return joined(a, b, a.value + b.value);
}

Estimate operator-(const Estimate& a, const Estimate& b) {
  return joined(a, b, a.value - b.value);
}

Estimate operator*(const Estimate& a, double factor) {
  return {a.value * factor, a.spread * std::abs(factor), a.samples};
}

double quantile(std::vector<double> values, double part) {
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  if (below + 1 == values.size()) return *at;
  const double next = *std::min_element(at + 1, values.end());
  return *at + (place - static_cast<double>(below)) * (next - *at);
}

Estimate estimate_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double spread = interquartile_range(values);
  const std::size_t ends = values.size() / winsorized_part;
  const double least = values[ends];
  const double most = values[values.size() - 1 - ends];
  for (double& value : values) value = std::clamp(value, least, most);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), spread, values.size()};
}

Estimate typical_of(const std::vector<double>& values) {
  return {quantile(values, 0.5), interquartile_range(values), values.size()};
}

void Samples::add(const Samples& others) {
  for (const auto& [name, values] : others.values_) {
    std::vector<double>& own = values_[name];
    own.insert(own.end(), values.begin(), values.end());
  }
  reasons_.insert(others.reasons_.begin(), others.reasons_.end());
}

std::optional<Estimate> Samples::find(const std::string& name) const {
  const std::vector<double>& own = values(name);
  return own.empty() ? std::nullopt : std::optional(estimate_of(own));
}

std::optional<Estimate> Samples::find_typical(const std::string& name) const {
  const std::vector<double>& own = values(name);
  return own.empty() ? std::nullopt : std::optional(typical_of(own));
}

std::string Samples::why_not(const std::string& name) const {
  const auto found = reasons_.find(name);
  return found == reasons_.end() ? "not measured" : found->second;
}

const std::vector<double>& Samples::values(const std::string& name) const {
  static const std::vector<double> none;
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

std::vector<std::string> Samples::names(std::string_view prefix) const {
  std::vector<std::string> result;
  for (const auto& [name, values] : values_) {
    if (name.starts_with(prefix)) result.push_back(name);
  }
  return result;
}

}  // namespace rkv::calibration
