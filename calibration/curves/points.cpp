#include "calibration/curves/points.hpp"

#include "calibration/curves/read_values.hpp"

namespace rkv::calibration {

const std::vector<std::string>& metrics() {
  static const std::vector<std::string> names{"throughput_ops_s",
                                              "latency_mean_us",
                                              "latency_p50_us",
                                              "latency_p95_us",
                                              "latency_p99_us",
                                              "server_context_switches_op",
                                              "client_context_switches_op"};
  return names;
}

PointFile read_points(const std::filesystem::path& path, Values values) {
  return read_values(path, "value", values);
}

}  // namespace rkv::calibration
