#include "calibration/curves/errors.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rkv::calibration {
namespace {

constexpr double peak_excess = 1.05;     // of the highest point over the last
constexpr double plateau_share = 0.9;    // of its height: reached
constexpr std::size_t least_points = 3;  // that have a shape

using Value = double ComparedPoint::*;

std::size_t highest(std::span<const ComparedPoint> points, Value value) {
  const auto found = std::ranges::max_element(points, {}, value);
  return static_cast<std::size_t>(std::distance(points.begin(), found));
}

double plateau_height(std::span<const ComparedPoint> points, Value value) {
  const std::size_t third = (points.size() + 2) / 3;
  double sum = 0;
  for (const ComparedPoint& point : points.last(third)) {
    sum += point.*value;
  }
  return sum / static_cast<double>(third);
}

// The first that reaches the plateau; one of those that it is the mean of does.
std::size_t arrival(std::span<const ComparedPoint> points, Value value, double height) {
  const auto found = std::ranges::find_if(
      points, [&](const ComparedPoint& point) { return point.*value >= plateau_share * height; });
  return static_cast<std::size_t>(std::distance(points.begin(), found));
}

}  // namespace

std::vector<ComparedPoint> compared_points(const Curve& measured, const Curve& predicted) {
  std::vector<ComparedPoint> points;
  for (const Sample& sample : measured) {
    const auto other = std::ranges::find(predicted, sample.clients, &Sample::clients);
    if (other != predicted.end() && sample.value > 0) {
      points.push_back({sample.clients, sample.value, other->value});
    }
  }
  return points;
}

std::optional<ShapeError> shape_error(std::span<const ComparedPoint> points) {
  if (points.size() < least_points) {
    return std::nullopt;
  }
  ShapeError error;
  std::size_t measured = highest(points, &ComparedPoint::measured);
  std::size_t predicted = 0;
  if (points[measured].measured > peak_excess * points.back().measured) {
    error.kind = ShapeError::Kind::peak;
    predicted = highest(points, &ComparedPoint::predicted);
    error.measured_height = points[measured].measured;
    error.predicted_height = points[predicted].predicted;
  } else {
    error.kind = ShapeError::Kind::plateau;
    error.measured_height = plateau_height(points, &ComparedPoint::measured);
    error.predicted_height = plateau_height(points, &ComparedPoint::predicted);
    measured = arrival(points, &ComparedPoint::measured, error.measured_height);
    predicted = arrival(points, &ComparedPoint::predicted, error.predicted_height);
  }
  error.measured_clients = points[measured].clients;
  error.predicted_clients = points[predicted].clients;
  error.grid_steps = static_cast<int>(predicted) - static_cast<int>(measured);
  return error;
}

std::optional<CurveErrors> curve_errors(std::span<const ComparedPoint> points, std::string_view metric) {
  if (points.empty()) {
    return std::nullopt;
  }
  CurveErrors errors;
  errors.points = points.size();
  errors.worst = points.front();
  for (const ComparedPoint& point : points) {
    errors.mean_absolute_error_percent +=
        std::abs(point.error_percent()) / static_cast<double>(points.size());
    if (std::abs(point.error_percent()) > std::abs(errors.worst.error_percent())) {
      errors.worst = point;
    }
  }
  if (metric == "throughput_ops_s") {
    errors.shape = shape_error(points);
  }
  return errors;
}

}  // namespace rkv::calibration
