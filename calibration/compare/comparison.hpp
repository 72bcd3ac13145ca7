// How far predicted curves are from measured ones, beside how far the Universal Scalability Law is that was
// fitted to the same measurements (calibration/curves/usl.hpp): what a simulation has to do better than.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/compare/side.hpp"
#include "calibration/curves/consistency.hpp"
#include "calibration/curves/curve.hpp"
#include "calibration/curves/errors.hpp"
#include "calibration/curves/usl.hpp"

namespace rkv::calibration {

// Of the compared points of a curve: all, those that were there to fit to, or those beyond.
enum class Range : std::uint8_t { all, fitted, beyond };

struct RangeErrors {
  Range range = Range::all;
  std::optional<CurveErrors> predicted;  // nothing: no points
  std::optional<CurveErrors> usl;        // at the same points; nothing: no points, or no such law
};

struct CurveComparison {
  CurveKey key;
  Curve measured;   // without what was left out
  Curve predicted;  // its points that were not measured among them
  // Of throughput and of mean latency in a closed loop; fitted to measured points, predicted or not.
  std::optional<Usl> usl;
  std::vector<RangeErrors> ranges;  // all, and where a number of clients was given, fitted and beyond
};

// Over all points of all curves of a metric.
struct MetricErrors {
  std::string metric;
  Range range = Range::all;
  std::size_t points = 0;
  double predicted_percent = 0;       // mean absolute percentage error
  std::optional<double> usl_percent;  // where all these points have a law
};

struct Comparison {
  std::string measured_source;
  std::string predicted_source;
  std::optional<std::uint32_t> fitted_clients;
  std::uint32_t outstanding = 1;        // Side
  std::vector<CurveComparison> curves;  // by metric in the order of metrics(), transport, completion
  std::vector<MetricErrors> metrics;    // likewise
  std::vector<CurveKey> only_measured;  // curves of one side
  std::vector<CurveKey> only_predicted;
  std::vector<ClosedLoopViolation> left_out;  // measured throughputs and mean latencies that can't both be
};

// `fitted_clients`: the prediction was made from points with at most so many clients; then the law is fitted
// to these only. Throws InputError when the sides have no point in common, or other numbers of operations
// under way.
[[nodiscard]] Comparison compare(const Side& measured, const Side& predicted,
                                 std::optional<std::uint32_t> fitted_clients);

}  // namespace rkv::calibration
