#include "calibration/measure/slices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace rkv::calibration {
namespace {

constexpr std::size_t fewest_times = 12;
constexpr double in_phase = 0.5;

std::vector<Gap> long_gaps(const std::vector<Gap>& gaps) {
  std::vector<Gap> result;
  std::copy_if(gaps.begin(), gaps.end(), std::back_inserter(result),
               [](const Gap& gap) { return gap.end_ns - gap.start_ns >= shortest_absence_ns; });
  return result;
}

}  // namespace

std::vector<double> slices_between(const std::vector<Gap>& gaps) {
  const std::vector<Gap> away = long_gaps(gaps);
  std::vector<double> slices;
  for (std::size_t i = 1; i < away.size(); ++i) slices.push_back(away[i].start_ns - away[i - 1].end_ns);
  return slices;
}

std::vector<double> absences(const std::vector<Gap>& gaps) {
  std::vector<double> starts;
  for (const Gap& gap : long_gaps(gaps)) starts.push_back(gap.start_ns);
  return starts;
}

std::optional<double> tick_of(const std::vector<double>& times_ns) {
  if (times_ns.size() < fewest_times) return std::nullopt;
  constexpr std::array<double, 4> frequencies_hz{100, 250, 300, 1000};
  for (const double frequency : frequencies_hz) {
    const double period = 1e9 / frequency;
    std::complex<double> sum = 0;
    for (const double time : times_ns) {
      sum += std::polar(1.0, 2 * std::numbers::pi * std::fmod(time, period) / period);
    }
    if (std::abs(sum) > in_phase * static_cast<double>(times_ns.size())) return period;
  }
  return std::nullopt;
}

SliceRange slice_range(double observed_ns, double tick_ns) {
  const double ticks = std::max(std::round(observed_ns / tick_ns), 1.0);
  return {(ticks - 1) * tick_ns, ticks * tick_ns};
}

}  // namespace rkv::calibration
