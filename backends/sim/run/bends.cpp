#include "backends/sim/run/bends.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rkv::sim {
namespace {

// At `walk`, on the line through both.
double line(const CyclePoint& a, const CyclePoint& b, double walk) {
  return a.cycle_ns + (b.cycle_ns - a.cycle_ns) * (walk - a.walk_ns) / (b.walk_ns - a.walk_ns);
}

}  // namespace

std::vector<Bend> bends(std::span<const CyclePoint> points, double part) {
  std::vector<Bend> found;
  for (std::size_t i = 2; i + 1 < points.size(); ++i) {
    const CyclePoint& low = points[i - 1];
    const CyclePoint& high = points[i];
    if (low.part_after <= 0) continue;
    const double walk = low.walk_after_ns;
    const double chord = line(low, high, walk);
    const double off = std::min(std::abs(chord - line(points[i - 2], low, walk)),
                                std::abs(chord - line(high, points[i + 1], walk)));
    if (off / chord * low.part_after > part) {
      found.push_back({.from_walk_ns = walk, .to_walk_ns = high.walk_ns});
    }
  }
  return found;
}

}  // namespace rkv::sim
