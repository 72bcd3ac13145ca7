// The directory that `rkv-calibrate compare --out` makes.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/compare/comparison.hpp"

namespace rkv::calibration {

// errors.json: all that comparison_table prints, and the parameters of each law. calibration/README.md has
// its members.
[[nodiscard]] nlohmann::ordered_json comparison_json(const Comparison& comparison);

// Throws InputError unless the directory is new or empty: results are never overwritten.
void check_free(const std::filesystem::path& directory);

// The command that draws the figures of a directory that write_comparison made, as a person types it.
[[nodiscard]] std::string figure_command(const std::filesystem::path& directory);

// Makes the directory as a whole (another beside it, then renamed): errors.json, points.csv (compared points
// with measurement and prediction, which compare itself reads), and calibration.pdf and .png drawn by
// plots/calibration.py. Returns why the figures could not be drawn, nothing where they were. Throws Error
// when the directory can't be made; then there is none.
[[nodiscard]] std::string write_comparison(const Comparison& comparison,
                                           const std::filesystem::path& directory);

}  // namespace rkv::calibration
