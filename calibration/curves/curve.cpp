#include "calibration/curves/curve.hpp"

#include <algorithm>

namespace rkv::calibration {

std::string curve_name(const CurveKey& key) {
  return key.transport + " " + key.completion + (key.scenario.empty() ? "" : " " + key.scenario);
}

std::map<CurveKey, Curve> curves_of(const std::vector<Point>& points) {
  std::map<CurveKey, Curve> curves;
  for (const Point& point : points) {
    if (point.value) {
      curves[{point.transport, point.completion, point.metric, point.scenario}].push_back(
          {point.clients, *point.value});
    }
  }
  for (auto& [key, curve] : curves) {
    std::ranges::sort(curve, {}, &Sample::clients);
  }
  return curves;
}

}  // namespace rkv::calibration
