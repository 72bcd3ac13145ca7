#include "calibration/measure/states.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::calibration {
namespace {

constexpr std::size_t fewest_values = 10;
constexpr std::size_t least_part = 20;  // one in so many
constexpr double least_factor = 1.5;

}  // namespace

std::optional<States> states_of(std::vector<double> values) {
  if (values.size() < fewest_values) return std::nullopt;
  std::sort(values.begin(), values.end());
  double all = 0;
  for (const double value : values) all += std::log(value);
  double below = 0;
  double most_between = 0;  // the variance between the parts, which with that within them makes up all
  std::size_t split = 0;
  for (std::size_t count = 1; count < values.size(); ++count) {
    below += std::log(values[count - 1]);
    const auto low = static_cast<double>(count);
    const auto high = static_cast<double>(values.size() - count);
    const double apart = below / low - (all - below) / high;
    if (const double between = low * high * apart * apart; between > most_between) {
      most_between = between;
      split = count;
    }
  }
  const std::size_t rest = values.size() - split;
  if (std::min(split, rest) * least_part < values.size()) return std::nullopt;
  const States states{.fast = values[split / 2],
                      .slow = values[split + rest / 2],
                      .limit = std::sqrt(values[split - 1] * values[split]),
                      .fast_count = split,
                      .slow_count = rest};
  if (states.slow < least_factor * states.fast) return std::nullopt;
  return states;
}

}  // namespace rkv::calibration
