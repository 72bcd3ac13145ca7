#include "calibration/measure/neighbours.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace rkv::calibration {
namespace {

constexpr double steps = 3;
constexpr double clearly_more = 0.5;
constexpr double grid = 1.02;  // from one kept_ns that is tried to the next

struct Costs {
  double at_none = 0;  // where none are lost
  double at_all = 0;
  double squares = 0;  // of relative errors
};

// The two costs between which those after pauses lie, by the parts that are lost.
Costs between(std::span<const AfterPause> costs, double kept_ns) {
  Eigen::MatrixX2d parts(costs.size(), 2);
  for (Eigen::Index i = 0; i < parts.rows(); ++i) {
    const auto& [pause, cost] = costs[static_cast<std::size_t>(i)];
    const double lost = lost_part(pause, kept_ns);
    parts.row(i) << (1 - lost) / cost, lost / cost;
  }
  const Eigen::VectorXd measured = Eigen::VectorXd::Ones(parts.rows());
  const Eigen::Vector2d ends = parts.colPivHouseholderQr().solve(measured);
  return {ends(0), ends(1), (parts * ends - measured).squaredNorm()};
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
    const Costs here = between(costs, kept);
    if (here.squares >= least) continue;
    least = here.squares;
    best.reset();
    if (here.at_none > 0 && here.at_all > (1 + clearly_more) * here.at_none) {
      best = Neighbours{kept, here.at_all};
    }
  }
  return best;
}

double cost_in_caches(double entry_ns, double age_ns, const Neighbours& neighbours) {
  const double lost = lost_part(age_ns, neighbours.kept_ns);
  return (entry_ns - lost * neighbours.lost_entry_ns) / (1 - lost);
}

}  // namespace rkv::calibration
