// The box and whiskers of a latency distribution, for box plots without outliers.
#pragma once

#include <cstdint>

#include "core/measure/histogram.hpp"

namespace rkv {

// Tukey 1977: the whiskers end at the last values within 1.5 times the inner-quartile range from the box.
struct BoxPlot {
  std::uint64_t whisker_low_ns = 0;
  std::uint64_t quartile_1_ns = 0;
  std::uint64_t median_ns = 0;
  std::uint64_t quartile_3_ns = 0;
  std::uint64_t whisker_high_ns = 0;
};

// All 0 for an empty histogram. Values as Histogram::quantile_ns gives them, so within 0.78 %.
[[nodiscard]] BoxPlot box_plot(const Histogram& histogram);

}  // namespace rkv
