// How read_points (points.hpp) and read_predictions (predictions.hpp) read a file: they differ in the column.
#pragma once

#include <filesystem>
#include <string_view>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

// As read_points says, with the values of this column.
[[nodiscard]] PointFile read_values(const std::filesystem::path& path, std::string_view column,
                                    Values values);

}  // namespace rkv::calibration
