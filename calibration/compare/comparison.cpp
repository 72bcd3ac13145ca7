#include "calibration/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr std::string_view throughput = "throughput_ops_s";
constexpr std::string_view mean_latency = "latency_mean_us";

using Curves = std::map<CurveKey, Curve>;

// The measured curves, without points whose values contradict each other.
Curves trusted_curves(const Side& measured, const std::vector<ClosedLoopViolation>& violations) {
  std::vector<Point> points = measured.points;
  std::erase_if(points, [&](const Point& point) {
    return (point.metric == throughput || point.metric == mean_latency) &&
           std::ranges::any_of(violations, [&](const ClosedLoopViolation& violation) {
             return violation.transport == point.transport && violation.completion == point.completion &&
                    violation.clients == point.clients;
           });
  });
  return curves_of(points);
}

std::vector<CurveKey> only_in_first(const Curves& first, const Curves& second) {
  std::vector<CurveKey> keys;
  for (const auto& [key, curve] : first) {
    if (!second.contains(key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

bool is_in(Range range, std::uint32_t clients, std::optional<std::uint32_t> fitted_clients) {
  switch (range) {
    case Range::fitted:
      return clients <= *fitted_clients;
    case Range::beyond:
      return clients > *fitted_clients;
    case Range::all:
      break;
  }
  return true;
}

std::optional<Usl> law_of(const CurveKey& key, Curve measured, std::optional<std::uint32_t> fitted_clients,
                          std::uint32_t outstanding) {
  if (fitted_clients) {
    std::erase_if(measured, [&](const Sample& sample) { return sample.clients > *fitted_clients; });
  }
  if (key.metric == throughput) {
    return fit_usl(measured);
  }
  if (key.metric == mean_latency && outstanding > 0) {
    return fit_usl_to_latency(measured, outstanding);
  }
  return std::nullopt;
}

// What the law says at the same points.
std::vector<ComparedPoint> by_law(std::vector<ComparedPoint> points, const Usl& law, std::string_view metric,
                                  std::uint32_t outstanding) {
  for (ComparedPoint& point : points) {
    point.predicted = metric == throughput ? law.throughput_ops_s(point.clients)
                                           : law.latency_us(point.clients, outstanding);
  }
  return points;
}

CurveComparison compare_curves(const CurveKey& key, const Curve& measured, const Curve& predicted,
                               const Comparison& comparison) {
  CurveComparison result{.key = key, .measured = measured, .predicted = predicted, .usl = {}, .ranges = {}};
  result.usl = law_of(key, measured, comparison.fitted_clients, comparison.outstanding);
  const auto compared = compared_points(measured, predicted);
  for (const Range range : {Range::all, Range::fitted, Range::beyond}) {
    if (range != Range::all && !comparison.fitted_clients) {
      continue;
    }
    std::vector<ComparedPoint> points;
    std::ranges::copy_if(compared, std::back_inserter(points), [&](const ComparedPoint& point) {
      return is_in(range, point.clients, comparison.fitted_clients);
    });
    RangeErrors errors{.range = range, .predicted = curve_errors(points, key.metric), .usl = {}};
    if (result.usl) {
      errors.usl = curve_errors(by_law(points, *result.usl, key.metric, comparison.outstanding), key.metric);
    }
    result.ranges.push_back(errors);
  }
  return result;
}

std::vector<MetricErrors> over_all_curves(const std::vector<CurveComparison>& curves) {
  std::vector<MetricErrors> all;
  for (const std::string& metric : metrics()) {
    for (const Range range : {Range::all, Range::fitted, Range::beyond}) {
      MetricErrors sum{
          .metric = metric, .range = range, .points = 0, .predicted_percent = 0, .usl_percent = 0.0};
      for (const CurveComparison& curve : curves) {
        for (const RangeErrors& errors : curve.ranges) {
          if (curve.key.metric != metric || errors.range != range || !errors.predicted) {
            continue;
          }
          const auto points = static_cast<double>(errors.predicted->points);
          sum.points += errors.predicted->points;
          sum.predicted_percent += points * errors.predicted->mean_absolute_error_percent;
          if (errors.usl && sum.usl_percent) {
            *sum.usl_percent += points * errors.usl->mean_absolute_error_percent;
          } else {
            sum.usl_percent = std::nullopt;
          }
        }
      }
      if (sum.points > 0) {
        sum.predicted_percent /= static_cast<double>(sum.points);
        if (sum.usl_percent) {
          *sum.usl_percent /= static_cast<double>(sum.points);
        }
        all.push_back(sum);
      }
    }
  }
  return all;
}

}  // namespace

Comparison compare(const Side& measured, const Side& predicted, std::optional<std::uint32_t> fitted_clients) {
  if (measured.outstanding != predicted.outstanding) {
    throw InputError(fmt::format(
        "{} and {} differ in the operations that a client has under way (load.window, load.arrivals; one, "
        "closed loop, in files of curves): their curves can't be compared",
        measured.source, predicted.source));
  }
  Comparison result{.measured_source = measured.source,
                    .predicted_source = predicted.source,
                    .fitted_clients = fitted_clients,
                    .outstanding = measured.outstanding,
                    .curves = {},
                    .metrics = {},
                    .only_measured = {},
                    .only_predicted = {},
                    .left_out = {}};
  if (measured.outstanding > 0) {
    result.left_out = closed_loop_violations(measured.points, closed_loop_tolerance, measured.outstanding);
  }
  const Curves trusted = trusted_curves(measured, result.left_out);
  const Curves all = curves_of(measured.points);
  const Curves predictions = curves_of(predicted.points);
  result.only_measured = only_in_first(all, predictions);
  result.only_predicted = only_in_first(predictions, all);
  std::size_t compared = 0;
  for (const std::string& metric : metrics()) {
    for (const auto& [key, curve] : trusted) {
      const auto prediction = predictions.find(key);
      if (key.metric == metric && prediction != predictions.end()) {
        result.curves.push_back(compare_curves(key, curve, prediction->second, result));
        const auto& errors = result.curves.back().ranges.front().predicted;
        compared += errors ? errors->points : 0;
      }
    }
  }
  if (compared == 0) {
    throw InputError(fmt::format(
        "{} and {} have no point in common: no transport, completion, number of clients and metric of "
        "which both have a value that can be",
        measured.source, predicted.source));
  }
  result.metrics = over_all_curves(result.curves);
  return result;
}

}  // namespace rkv::calibration
