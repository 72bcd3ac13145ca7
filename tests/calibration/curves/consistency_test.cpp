// Values that contradict each other.
#include <catch2/catch.hpp>

#include "calibration/curves/consistency.hpp"

using rkv::calibration::closed_loop_violations;
using rkv::calibration::inconsistencies;
using rkv::calibration::Point;

namespace {

Point point(std::uint32_t clients, const char* metric, double value) {
  return {.transport = "tcp",
          .completion = "busy",
          .clients = clients,
          .metric = metric,
          .value = value,
          .spread = {},
          .line = clients};
}

}  // namespace

TEST_CASE("latency above what the clients' number over throughput allows is found") {
  const auto points =
      rkv::calibration::read_points(RKV_FIXTURES "/curves.csv", rkv::calibration::Values::required).points;
  const auto found = closed_loop_violations(points);  // only TCP with one client: 1 / 20000 s = 50 us < 70 us
  REQUIRE(found.size() == 1);
  CHECK(found[0].transport == "tcp");
  CHECK(found[0].completion == "event");
  CHECK(found[0].clients == 1);
  CHECK(found[0].throughput_ops_s == 20000);
  CHECK(found[0].latency_mean_us == 70);
  CHECK(found[0].least_us == Approx(50));
}

TEST_CASE("rounding is no violation") {
  // 2 / 20000 s = 100 us.
  CHECK(closed_loop_violations({point(2, "throughput_ops_s", 20000), point(2, "latency_mean_us", 100.9)})
            .empty());
  CHECK(closed_loop_violations({point(2, "throughput_ops_s", 20000), point(2, "latency_mean_us", 101.2)})
            .size() == 1);
  CHECK(
      closed_loop_violations({point(2, "throughput_ops_s", 20000), point(2, "latency_mean_us", 101.2)}, 0.05)
          .empty());
  CHECK(closed_loop_violations({point(2, "throughput_ops_s", 20000), point(2, "latency_mean_us", 100.1)}, 0)
            .size() == 1);
}

TEST_CASE("a client with several operations under way may wait longer") {
  const std::vector<Point> points{point(2, "throughput_ops_s", 20000), point(2, "latency_mean_us", 390)};
  CHECK(closed_loop_violations(points).size() == 1);
  CHECK(closed_loop_violations(points, 0.01, 4).empty());
}

TEST_CASE("values of different points say nothing about each other") {
  CHECK(closed_loop_violations({point(1, "throughput_ops_s", 20000), point(2, "latency_mean_us", 1000)})
            .empty());
  CHECK(inconsistencies({point(1, "latency_p50_us", 20), point(2, "latency_p95_us", 10)}).empty());
}

TEST_CASE("percentiles ascend, and the mean is not below what they leave room for") {
  CHECK(inconsistencies(
            {point(1, "latency_p50_us", 20), point(1, "latency_p95_us", 20), point(1, "latency_p99_us", 20)})
            .empty());
  CHECK(inconsistencies({point(1, "latency_p95_us", 20), point(1, "latency_p99_us", 19)}).size() == 1);
  CHECK(inconsistencies({point(1, "latency_mean_us", 10), point(1, "latency_p50_us", 20)}).empty());
  CHECK(inconsistencies({point(1, "latency_mean_us", 9.8), point(1, "latency_p50_us", 20)}).size() == 1);
  CHECK(inconsistencies({point(1, "latency_mean_us", 10), point(1, "latency_p99_us", 1000)}).empty());
  CHECK(inconsistencies({point(1, "latency_mean_us", 10), point(1, "latency_p99_us", 1100)}).size() == 1);
}
