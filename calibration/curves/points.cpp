#include "calibration/curves/points.hpp"

#include <array>

#include "calibration/curves/read_values.hpp"

namespace rkv::calibration {

const std::vector<std::string>& metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"throughput_ops_s", "throughput_both_ways_ops_s", "latency_mean_us"};
    for (const Percentile& percentile : percentiles()) all.emplace_back(percentile.metric);
    all.emplace_back("server_context_switches_op");
    all.emplace_back("client_context_switches_op");
    return all;
  }();
  return names;
}

std::span<const Percentile> percentiles() {
  static constexpr std::array all{Percentile{"latency_p25_us", 0.25}, Percentile{"latency_p50_us", 0.5},
                                  Percentile{"latency_p75_us", 0.75}, Percentile{"latency_p95_us", 0.95},
                                  Percentile{"latency_p99_us", 0.99}};
  return all;
}

PointFile read_points(const std::filesystem::path& path, Values values) {
  return read_values(path, "value", values);
}

}  // namespace rkv::calibration
