#include "calibration/curves/limits.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rkv::calibration {
namespace {

struct Limits {
  std::string_view unit;
  double least;
  double most;
};

Limits limits_of(std::string_view metric) {
  // The least throughput is that of one client whose operations take as long as the longest latency.
  if (metric.starts_with("throughput_")) return {"operations a second", 0.1, 1e9};
  // No message gets anywhere in a tenth of a microsecond, and nobody measures operations of 10 seconds.
  if (metric.starts_with("latency_")) return {"microseconds", 0.1, 1e7};
  // A thread that always finds what it polls for may never be switched; one that shares a core with spinning
  // threads is switched very often an operation.
  return {"context switches an operation", 0, 1e6};
}

}  // namespace

std::string value_problem(std::string_view metric, double value) {
  const Limits limits = limits_of(metric);
  if (std::isfinite(value) && value >= limits.least && value <= limits.most) {
    return {};
  }
  return fmt::format(
      "{:g} can't be {} ({}): allowed are {:g} to {:g}; correct it, or convert it from its unit", value,
      metric, limits.unit, limits.least, limits.most);
}

std::string spread_problem(std::string_view metric, double spread) {
  const Limits limits = limits_of(metric);
  if (std::isfinite(spread) && spread >= 0 && spread <= limits.most) {
    return {};
  }
  return fmt::format(
      "{:g} can't be the spread of {} ({}): allowed are 0 to {:g}; correct it, or leave it empty", spread,
      metric, limits.unit, limits.most);
}

}  // namespace rkv::calibration
