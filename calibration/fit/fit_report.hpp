// What a fit found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "calibration/fit/curve_fit.hpp"
#include "calibration/fit/least_squares.hpp"

namespace rkv::calibration {

// A table of the parameters, the curves' errors, and what stands in the way of using the fit.
void print_fit(const std::vector<Parameter>& parameters, const FitPoints& points, const Fit& fit);

// All of it: parameters with intervals and the curves that they shape, residuals of all points, points left
// out and why.
[[nodiscard]] nlohmann::json fit_report(const std::vector<Parameter>& parameters, const FitPoints& points,
                                        const Fit& fit);

}  // namespace rkv::calibration
