#include "calibration/measure/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rkv::calibration {
namespace {

constexpr double steps = 3;
constexpr double clearly_more = 0.5;
constexpr double grid = 1.02;  // from one kept_ns that is tried to the next

struct Line {
  double at_none = 0;  // cost where none are lost
  double at_all = 0;
  double squares = 0;  // of relative errors
};

// Weighted regression of the costs on the parts that are lost.
Line line_through(std::span<const AfterPause> costs, double kept_ns) {
  double weights = 0;
  double parts = 0;
  double costs_sum = 0;
  for (const auto& [pause, cost] : costs) {
    const double weight = 1 / (cost * cost);
    weights += weight;
    parts += weight * lost_part(pause, kept_ns);
    costs_sum += weight * cost;
  }
  const double mean_part = parts / weights;
  const double mean_cost = costs_sum / weights;
  double together = 0;
  double own = 0;
  for (const auto& [pause, cost] : costs) {
    const double part = lost_part(pause, kept_ns) - mean_part;
    together += part * (cost - mean_cost) / (cost * cost);
    own += part * part / (cost * cost);
  }
  const double slope = own > 0 ? together / own : 0;
  Line line{mean_cost - slope * mean_part, mean_cost + slope * (1 - mean_part), 0};
  for (const auto& [pause, cost] : costs) {
    const double expected = line.at_none + slope * lost_part(pause, kept_ns);
    line.squares += (expected / cost - 1) * (expected / cost - 1);
  }
  return line;
}

}  // namespace

double lost_part(double age_ns, double kept_ns) {
  const double x = steps * age_ns / kept_ns;
  return 1 - std::exp(-x) * (1 + x + x * x / 2);
}

std::optional<Neighbours> neighbours_of(std::span<const AfterPause> costs) {
  double shortest = std::numeric_limits<double>::infinity();
  double longest = 0;
  for (const AfterPause& cost : costs) {
    if (cost.pause_ns > 0) shortest = std::min(shortest, cost.pause_ns);
    longest = std::max(longest, cost.pause_ns);
  }
  std::optional<Neighbours> best;
  double least = std::numeric_limits<double>::infinity();
  for (double kept = shortest; kept <= longest; kept *= grid) {
    const Line line = line_through(costs, kept);
    if (line.squares >= least) continue;
    least = line.squares;
    best.reset();
    if (line.at_none > 0 && line.at_all > (1 + clearly_more) * line.at_none) {
      best = Neighbours{kept, line.at_all};
    }
  }
  return best;
}

double cost_in_caches(double entry_ns, double age_ns, const Neighbours& neighbours) {
  const double lost = lost_part(age_ns, neighbours.kept_ns);
  return (entry_ns - lost * neighbours.lost_entry_ns) / (1 - lost);
}

}  // namespace rkv::calibration
