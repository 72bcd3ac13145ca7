// What a value can be in its metric's unit. Wide: a value outside is in another unit, or a mistake.
#pragma once

#include <string>
#include <string_view>

namespace rkv::calibration {

// Empty when the value can be; else what is wrong and what to do:
//   "1e+12 is no throughput_ops_s (operations a second): allowed are 0.1 to 1e+09; convert it ..."
// `metric` is one of metrics() (points.hpp). Thread-safe.
[[nodiscard]] std::string value_problem(std::string_view metric, double value);

// The same for a spread: it may be 0, and is in its metric's unit otherwise.
[[nodiscard]] std::string spread_problem(std::string_view metric, double spread);

}  // namespace rkv::calibration
