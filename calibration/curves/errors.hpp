// How far a predicted curve is from a measured one. Everything here is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "calibration/curves/curve.hpp"

namespace rkv::calibration {

struct ComparedPoint {
  std::uint32_t clients = 0;
  double measured = 0;  // above 0
  double predicted = 0;

  // Relative to the measurement, above 0 where the prediction is too high.
  [[nodiscard]] double error_percent() const { return (predicted / measured - 1) * 100; }
};

// The points that both curves have, by ascending clients. A measured 0 (context switches), to which no error
// is relative, is left out.
[[nodiscard]] std::vector<ComparedPoint> compared_points(const Curve& measured, const Curve& predicted);

// Where a curve that rises and then falls has its highest point, or where one that only rises levels off.
struct ShapeError {
  enum class Kind : std::uint8_t { peak, plateau };

  Kind kind = Kind::peak;  // as measured
  double measured_height = 0;
  double predicted_height = 0;
  // Peak: the clients at the highest point, the first of equal ones. Plateau: the first clients with 90 % of
  // its height.
  std::uint32_t measured_clients = 0;
  std::uint32_t predicted_clients = 0;
  int grid_steps = 0;  // so many compared points later is the predicted one

  [[nodiscard]] double height_error_percent() const { return (predicted_height / measured_height - 1) * 100; }
};

// A curve peaks when its highest measured point is more than 5 % above the one with the most clients. Else it
// has a plateau: the mean of the last third of the points (rounded up). 90 % refers to each curve's own
// height; the predicted curve is looked at in the same way as the measured one, whatever its own shape.
// Nothing with fewer than three points. The points are as compared_points gives them.
[[nodiscard]] std::optional<ShapeError> shape_error(std::span<const ComparedPoint> points);

struct CurveErrors {
  std::size_t points = 0;                  // compared ones, 1 at least
  double mean_absolute_error_percent = 0;  // mean absolute percentage error
  ComparedPoint worst;                     // with the largest relative error, the first of equal ones
  std::optional<ShapeError> shape;  // of curves of throughput only: latencies neither peak nor level off
};

// Nothing without points. `metric` is one of metrics().
[[nodiscard]] std::optional<CurveErrors> curve_errors(std::span<const ComparedPoint> points,
                                                      std::string_view metric);

}  // namespace rkv::calibration
