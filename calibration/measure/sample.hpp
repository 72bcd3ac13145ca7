// Repetitions of a measurement and the figure that they give: the median, the interquartile range as its
// spread, and how many there were. The median, because a repetition that was disturbed (by an interrupt,
// another thread, the hypervisor) is too long by any amount, and half of them may be before it moves. Plain
// data; not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rkv::calibration {

struct Estimate {
  double value = 0;         // median
  double spread = 0;        // third quartile less the first
  std::size_t samples = 0;  // how many repetitions it is the median of; of the fewest where several took part

  bool operator==(const Estimate&) const = default;
};

// What is made of several figures. Spreads add as those of independent errors do, in quadrature.
[[nodiscard]] Estimate operator+(const Estimate& a, const Estimate& b);
[[nodiscard]] Estimate operator-(const Estimate& a, const Estimate& b);
[[nodiscard]] Estimate operator*(const Estimate& a, double factor);

// The value below which this part (0 to 1) of them lies, interpolated between neighbours (Hyndman and Fan,
// "Sample quantiles in statistical packages", The American Statistician 50(4), 1996, type 7). Not of none.
[[nodiscard]] double quantile(std::vector<double> values, double part);
// Not of none.
[[nodiscard]] Estimate estimate_of(const std::vector<double>& values);

// Samples by the name of what was measured, and why others could not be.
class Samples {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void add(const Samples& others);
  // The first reason given stays.
  void cannot(const std::string& name, std::string why) { reasons_.emplace(name, std::move(why)); }

  [[nodiscard]] std::optional<Estimate> find(const std::string& name) const;
  // Why there is no such sample: what cannot() said, or that it was not measured.
  [[nodiscard]] std::string why_not(const std::string& name) const;
  [[nodiscard]] const std::vector<double>& values(const std::string& name) const;
  // Names that begin so, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names(std::string_view prefix) const;

 private:
  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, std::string> reasons_;
};

}  // namespace rkv::calibration
