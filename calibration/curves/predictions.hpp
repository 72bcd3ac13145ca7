// Files of points that have predictions beside what was measured: write_points.hpp writes them.
#pragma once

#include <filesystem>
#include <string_view>

#include "calibration/curves/points.hpp"

namespace rkv::calibration {

inline constexpr std::string_view predicted_column = "predicted";

// Whether the file has a column `predicted`. Throws InputError when it can't be read.
[[nodiscard]] bool has_predictions(const std::filesystem::path& path);

// The points that are predicted, with the prediction as their value. Throws InputError as read_points does.
[[nodiscard]] PointFile read_predictions(const std::filesystem::path& path);

}  // namespace rkv::calibration
