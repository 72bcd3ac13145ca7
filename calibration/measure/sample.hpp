// Repetitions of a measurement and the figure that they give: their mean, the interquartile range as its
// spread, and how many there were. Plain data; not thread-safe.
//
// The mean, because what a run does is a mean over all that happens to it: where others use a core's other
// hardware thread in a quarter of the repetitions, which then take half as long again, a median tells nothing
// of it. And figures are made of sums and differences of others, in which only means add up. But a repetition
// that was disturbed (by an interrupt, another thread, the hypervisor) is too long by any amount, so the mean
// is winsorized: each tenth at the ends counts as the value next to it, of fewer than ten none (Tukey, "The
// future of data analysis", Annals of Mathematical Statistics 33(1), 1962).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rkv::calibration {

struct Estimate {
  double value = 0;
  double spread = 0;        // third quartile less the first
  std::size_t samples = 0;  // how many repetitions it is made of; of the fewest where several took part

  bool operator==(const Estimate&) const = default;
};

// What is made of several figures. Spreads add as those of independent errors do, in quadrature.
[[nodiscard]] Estimate operator+(const Estimate& a, const Estimate& b);
[[nodiscard]] Estimate operator-(const Estimate& a, const Estimate& b);
[[nodiscard]] Estimate operator*(const Estimate& a, double factor);

// The value below which this part (0 to 1) of them lies, interpolated between neighbours (Hyndman and Fan,
// "Sample quantiles in statistical packages", The American Statistician 50(4), 1996, type 7). Not of none.
[[nodiscard]] double quantile(std::vector<double> values, double part);
// Their winsorized mean. Not of none.
[[nodiscard]] Estimate estimate_of(std::vector<double> values);
// Their median instead: of what is one thing most often, and now and then something else. Not of none.
[[nodiscard]] Estimate typical_of(const std::vector<double>& values);

// Samples by the name of what was measured, and why others could not be.
class Samples {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void add(const Samples& others);
  // The first reason given stays.
  void cannot(const std::string& name, std::string why) { reasons_.emplace(name, std::move(why)); }

  [[nodiscard]] std::optional<Estimate> find(const std::string& name) const;
  [[nodiscard]] std::optional<Estimate> find_typical(const std::string& name) const;
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
