// Points as a CSV file that read_points reads.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

// Replaces the file as a whole. `spread` is a column only where a point has one. `predicted`, one for each
// point or none at all, becomes a column of that name (predictions.hpp). Numbers are written so that they are
// read back exactly. Throws Error when the file can't be written.
void write_points(const std::filesystem::path& path, const std::vector<Point>& points,
                  std::span<const std::optional<double>> predicted = {});

}  // namespace rkv::calibration
