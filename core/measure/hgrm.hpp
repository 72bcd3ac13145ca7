// A histogram as text in HdrHistogram's percentile format (.hgrm), which its plotters read, for instance
// http://hdrhistogram.github.io/HdrHistogram/plotFiles.html
#pragma once

#include <cstdint>
#include <string>

#include "core/measure/histogram.hpp"

namespace rkv {

// Values in microseconds with three decimals. Lines stand at the percentiles that HdrHistogram's
// outputPercentileDistribution takes: `ticks_per_half_distance` between 0 and 50 %, as many between 50 and
// 75 %, and so on, until all values are counted. `ticks_per_half_distance` is at least 1.
[[nodiscard]] std::string hgrm(const Histogram& histogram, std::uint32_t ticks_per_half_distance = 50);

}  // namespace rkv
