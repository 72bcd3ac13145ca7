// A comparison for a person to read.
#pragma once

#include <string>

#include "calibration/compare/comparison.hpp"

namespace rkv::calibration {

// For each metric a line a curve and range, mean absolute and worst error of prediction and law; for
// throughput then the errors of peaks and plateaus; in the end what was not compared. Ends in a newline.
[[nodiscard]] std::string comparison_table(const Comparison& comparison);

}  // namespace rkv::calibration
