// What values of one point can't be beside each other, whoever measured them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

// Two metrics of a point that contradict each other.
struct Inconsistency {
  std::size_t line = 0;  // of the second of them
  std::string text;      // what is wrong and what to do
};

// Percentiles that descend (p50 > p95, p50 > p99, p95 > p99), and means below what the percentiles leave room
// for: at least a share 1 - q of all values is as large as percentile q, so the mean is at least (1 - q)
// times it.
[[nodiscard]] std::vector<Inconsistency> inconsistencies(const std::vector<Point>& points);

// A point at which clients x outstanding / throughput is below the mean latency. In a closed loop each client
// has its operations outstanding all the time or less, so by Little's law that can't be: one of the values,
// and nobody can tell which, is no mean of this run.
struct ClosedLoopViolation {
  std::string transport;
  std::string completion;
  std::uint32_t clients = 0;
  double throughput_ops_s = 0;
  double latency_mean_us = 0;
  double least_us = 0;  // clients x outstanding / throughput
};

// For what rounding makes of honest values, as a part of the mean latency.
inline constexpr double closed_loop_tolerance = 0.01;

// All such points, in the order of their throughputs; a fit leaves both values out and reports them.
// `outstanding`: operations that a client has under way at a time.
[[nodiscard]] std::vector<ClosedLoopViolation> closed_loop_violations(
    const std::vector<Point>& points, double tolerance = closed_loop_tolerance,
    std::uint32_t outstanding = 1);

}  // namespace rkv::calibration
