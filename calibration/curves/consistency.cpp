#include "calibration/curves/consistency.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>

namespace rkv::calibration {
namespace {

constexpr double rounding = 0.01;  // percentiles of histograms are a little above the true ones

// The points of one transport, completion, scenario and number of clients, by metric.
using Metrics = std::map<std::string_view, const Point*>;
using Place = std::tuple<std::string_view, std::string_view, std::string_view, std::uint32_t>;

std::map<Place, Metrics> by_place(const std::vector<Point>& points) {
  std::map<Place, Metrics> places;
  for (const Point& point : points) {
    if (point.value) {
      places[{point.transport, point.completion, point.scenario, point.clients}][point.metric] = &point;
    }
  }
  return places;
}

const Point* find(const Metrics& metrics, std::string_view name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? nullptr : found->second;
}

void check_order(const Metrics& metrics, std::string_view low, std::string_view high,
                 std::vector<Inconsistency>& wrong) {
  const Point* lower = find(metrics, low);
  const Point* upper = find(metrics, high);
  if (lower != nullptr && upper != nullptr && *lower->value > *upper->value) {
    wrong.push_back(
        {upper->line, fmt::format("{} is {:g} at clients = {}, but {} on line {} is {:g}; percentiles can't "
                                  "descend: correct one",
                                  high, *upper->value, upper->clients, low, lower->line, *lower->value)});
  }
}

void check_mean(const Metrics& metrics, std::string_view percentile, double share_above,
                std::vector<Inconsistency>& wrong) {
  const Point* mean = find(metrics, "latency_mean_us");
  const Point* point = find(metrics, percentile);
  if (mean != nullptr && point != nullptr && *mean->value * (1 + rounding) < share_above * *point->value) {
    wrong.push_back(
        {mean->line,
         fmt::format("latency_mean_us is {:g} at clients = {}, but by {} on line {} it can't be "
                     "below {:g}; correct one",
                     *mean->value, mean->clients, percentile, point->line, share_above * *point->value)});
  }
}

}  // namespace

std::vector<Inconsistency> inconsistencies(const std::vector<Point>& points) {
  std::vector<Inconsistency> wrong;
  for (const auto& [place, metrics] : by_place(points)) {
    const auto all = percentiles();
    for (std::size_t low = 0; low < all.size(); ++low) {
      for (std::size_t high = low + 1; high < all.size(); ++high) {
        check_order(metrics, all[low].metric, all[high].metric, wrong);
      }
      check_mean(metrics, all[low].metric, 1 - all[low].share_below, wrong);
    }
  }
  return wrong;
}

std::vector<ClosedLoopViolation> closed_loop_violations(const std::vector<Point>& points, double tolerance,
                                                        std::uint32_t outstanding) {
  const auto places = by_place(points);
  std::vector<ClosedLoopViolation> violations;
  for (const Point& point : points) {
    // How much a scenario of its own has outstanding is not known here.
    if (point.metric != "throughput_ops_s" || !point.value || !point.scenario.empty()) {
      continue;
    }
    const Point* latency = find(places.at({point.transport, point.completion, point.scenario, point.clients}),
                                "latency_mean_us");
    if (latency == nullptr) {
      continue;
    }
    const double least_us = static_cast<double>(point.clients) * outstanding / *point.value * 1e6;
    if (least_us < *latency->value * (1 - tolerance)) {
      violations.push_back(
          {point.transport, point.completion, point.clients, *point.value, *latency->value, least_us});
    }
  }
  return violations;
}

}  // namespace rkv::calibration
