#include "core/measure/box_plot.hpp"

#include <algorithm>

namespace rkv {

BoxPlot box_plot(const Histogram& histogram) {
  BoxPlot box;
  box.quartile_1_ns = histogram.quantile_ns(0.25);
  box.median_ns = histogram.quantile_ns(0.5);
  box.quartile_3_ns = histogram.quantile_ns(0.75);
  const std::uint64_t reach_ns = (box.quartile_3_ns - box.quartile_1_ns) * 3 / 2;
  const std::uint64_t low_fence_ns = box.quartile_1_ns - std::min(reach_ns, box.quartile_1_ns);
  const std::uint64_t high_fence_ns = box.quartile_3_ns + reach_ns;
  box.whisker_low_ns = box.quartile_1_ns;
  box.whisker_high_ns = box.quartile_3_ns;
  if (histogram.min_ns() >= low_fence_ns) {
    box.whisker_low_ns = histogram.min_ns();
  }
  for (const auto& bucket : histogram.buckets()) {
    const std::uint64_t value_ns = std::min(bucket.last_ns, histogram.max_ns());
    if (value_ns >= low_fence_ns) {
      box.whisker_low_ns = std::min(box.whisker_low_ns, value_ns);
    }
    if (value_ns <= high_fence_ns) {
      box.whisker_high_ns = std::max(box.whisker_high_ns, value_ns);
    }
  }
  return box;
}

}  // namespace rkv
