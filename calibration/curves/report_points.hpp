// Reports of rkv-real and rkv-sim (docs/report.md) as points of curves.
#pragma once

#include <cstdint>
#include <filesystem>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

struct ReportPoints : PointFile {
  // Operations that each client has under way at a time (load.window); 0: an open loop, to which the laws of
  // closed ones do not apply.
  std::uint32_t outstanding = 1;
};

// The report's points, all metrics of each: throughput, mean and percentiles of latency, and both sides'
// context switches an operation. These are counted from a thread's start to its end, so they are divided by
// all requests that the server served, warm-up included. Points that ended early or measured nothing are left
// out, with a warning. A point's line is 0.
// Throws InputError, with the JSON pointer, for what is no such report, and for one without usable points.
[[nodiscard]] ReportPoints read_report_points(const std::filesystem::path& path);

}  // namespace rkv::calibration
