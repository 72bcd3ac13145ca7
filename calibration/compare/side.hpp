// One side of a comparison: where its points come from.
#pragma once

#include <cstdint>
#include <filesystem>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

struct Side : PointFile {
  std::uint32_t outstanding = 1;  // ReportPoints (report_points.hpp); files of curves are of closed loops
};

// What was measured: a report.json, the directory of one or of several runs, or a CSV file's `value` column.
// Throws InputError; so it does when two of several runs have points of the same transport, completion and
// number of clients, or when some have another number of operations under way.
[[nodiscard]] Side measured_side(const std::filesystem::path& path);

// What was predicted: a report or a directory likewise, or a CSV file's column `predicted`, where it has none
// `value`.
[[nodiscard]] Side predicted_side(const std::filesystem::path& path);

}  // namespace rkv::calibration
