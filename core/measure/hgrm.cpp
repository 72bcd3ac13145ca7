#include "core/measure/hgrm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rkv {
namespace {

constexpr double ns_per_us = 1000.0;

// The distance to 100 % is halved again and again; within each half the levels are equally far apart
// (HdrHistogram's PercentileIterator).
double next_level_percent(double level_percent, std::uint32_t ticks_per_half_distance) {
  const double halvings = std::floor(std::log2(100.0 / (100.0 - level_percent))) + 1.0;
  return level_percent + 100.0 / (ticks_per_half_distance * std::exp2(halvings));
}

}  // namespace

std::string hgrm(const Histogram& histogram, std::uint32_t ticks_per_half_distance) {
  std::string text =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  auto out = std::back_inserter(text);
  std::uint64_t seen = 0;
  double level_percent = 0;
  for (const auto& bucket : histogram.buckets()) {
    seen += bucket.count;
    const double reached_percent = 100.0 * static_cast<double>(seen) / static_cast<double>(histogram.count());
    const double value_us = static_cast<double>(std::min(bucket.last_ns, histogram.max_ns())) / ns_per_us;
    while (level_percent <= reached_percent) {
      const double level = level_percent / 100.0;
      fmt::format_to(out, "{:12.3f} {:.12f} {:10} {:14.2f}\n", value_us, level, seen, 1.0 / (1.0 - level));
      level_percent = next_level_percent(level_percent, ticks_per_half_distance);
      if (seen == histogram.count()) {
        break;  // the rest of the levels, without end, would all be this value
      }
    }
  }
  if (!histogram.empty()) {
    fmt::format_to(out, "{:12.3f} {:.12f} {:10}\n", static_cast<double>(histogram.max_ns()) / ns_per_us, 1.0,
                   histogram.count());
  }
  // HdrHistogram's footer; its plotters take lines that start with # for comments.
  constexpr auto powers_of_two = Histogram::value_bits - Histogram::sub_bucket_bits;
  fmt::format_to(out, "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", histogram.mean_ns() / ns_per_us,
                 histogram.stddev_ns() / ns_per_us);
  fmt::format_to(out, "#[Max     = {:12.3f}, Total count    = {:12}]\n",
                 static_cast<double>(histogram.max_ns()) / ns_per_us, histogram.count());
  fmt::format_to(out, "#[Buckets = {:12}, SubBuckets     = {:12}]\n", powers_of_two,
                 2U << Histogram::sub_bucket_bits);
  return text;
}

}  // namespace rkv
