// What is compared with what, and the errors that come out.
#include <catch2/catch.hpp>

#include "calibration/compare/comparison.hpp"
#include "core/error.hpp"
#include "tests/calibration/compare/sides.hpp"

using namespace rkv::calibration;
using rkv::test::add;

namespace {

// Throughput by the law with lambda 1000, sigma 0.25: 1000, 1600, 16000 / 7 (4 clients), 32000 / 11 (8
// clients).
std::vector<std::pair<std::uint32_t, double>> lawful() {
  return {{1, 1000}, {2, 1600}, {4, 16000 / 7.0}, {8, 32000 / 11.0}};
}

}  // namespace

TEST_CASE("errors of a prediction and of a law that holds exactly") {
  Side measured;
  Side predicted;
  add(measured, "rc", "throughput_ops_s", lawful());
  add(predicted, "rc", "throughput_ops_s", {{1, 1100}, {2, 1600}, {4, 16000 / 7.0 * 0.8}, {8, 32000 / 11.0}});
  const Comparison comparison = compare(measured, predicted, {});
  REQUIRE(comparison.curves.size() == 1);
  const CurveComparison& curve = comparison.curves[0];
  CHECK(curve.key == CurveKey{"rc", "busy", "throughput_ops_s"});
  REQUIRE(curve.ranges.size() == 1);
  REQUIRE(curve.ranges[0].predicted);
  CHECK(curve.ranges[0].predicted->points == 4);
  CHECK(curve.ranges[0].predicted->mean_absolute_error_percent == Approx(30.0 / 4));  // 10 % and 20 %
  CHECK(curve.ranges[0].predicted->worst.clients == 4);
  REQUIRE(curve.usl);
  CHECK(curve.usl->sigma == Approx(0.25));
  REQUIRE(curve.ranges[0].usl);
  CHECK(curve.ranges[0].usl->mean_absolute_error_percent == Approx(0).margin(1e-6));
}

TEST_CASE("with a number of clients that were fitted to, the law too sees no others") {
  Side measured;
  Side predicted;
  auto values = lawful();
  values[3].second = 1000;  // the last point collapses: nothing before tells of it
  add(measured, "rc", "throughput_ops_s", values);
  add(predicted, "rc", "throughput_ops_s", {{1, 1000}, {2, 1600}, {4, 16000 / 7.0}, {8, 1100}});
  const Comparison comparison = compare(measured, predicted, 4);
  const auto& ranges = comparison.curves[0].ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].range == Range::all);
  CHECK(ranges[0].predicted->points == 4);
  CHECK(ranges[1].range == Range::fitted);
  CHECK(ranges[1].predicted->points == 3);
  CHECK(ranges[1].usl->mean_absolute_error_percent == Approx(0).margin(1e-6));
  CHECK(ranges[2].range == Range::beyond);
  CHECK(ranges[2].predicted->points == 1);
  CHECK(ranges[2].predicted->mean_absolute_error_percent == Approx(10));
  CHECK(ranges[2].usl->mean_absolute_error_percent == Approx((32000 / 11.0 / 1000 - 1) * 100));
}

TEST_CASE("a curve of latencies has a law in a closed loop only, percentiles have none") {
  Side measured;
  add(measured, "rc", "latency_mean_us", {{1, 1000}, {2, 1250}, {4, 1750}});  // n / law
  add(measured, "rc", "latency_p99_us", {{1, 2000}});
  const Comparison closed = compare(measured, measured, {});
  REQUIRE(closed.curves.size() == 2);
  REQUIRE(closed.curves[0].usl);
  CHECK(closed.curves[0].usl->lambda_ops_s == Approx(1000));
  CHECK(closed.curves[0].usl->sigma == Approx(0.25));
  CHECK(closed.curves[0].ranges[0].usl->mean_absolute_error_percent == Approx(0).margin(1e-6));
  CHECK_FALSE(closed.curves[1].usl);
  measured.outstanding = 0;
  const Comparison open = compare(measured, measured, {});
  CHECK_FALSE(open.curves[0].usl);
  CHECK_FALSE(open.metrics[0].usl_percent);
}

TEST_CASE("over all curves every point counts alike") {
  Side measured;
  Side predicted;
  add(measured, "rc", "latency_p50_us", {{1, 10}, {2, 10}, {3, 10}});
  add(predicted, "rc", "latency_p50_us", {{1, 11}, {2, 11}, {3, 11}});
  add(measured, "uc", "latency_p50_us", {{1, 10}});
  add(predicted, "uc", "latency_p50_us", {{1, 15}});
  const Comparison comparison = compare(measured, predicted, 2);
  REQUIRE(comparison.metrics.size() == 3);
  CHECK(comparison.metrics[0].points == 4);
  CHECK(comparison.metrics[0].predicted_percent == Approx(20));  // (3 x 10 + 50) / 4
  CHECK_FALSE(comparison.metrics[0].usl_percent);
  CHECK(comparison.metrics[1].range == Range::fitted);
  CHECK(comparison.metrics[1].predicted_percent == Approx(70.0 / 3));
  CHECK(comparison.metrics[2].range == Range::beyond);
  CHECK(comparison.metrics[2].predicted_percent == Approx(10));
}

TEST_CASE("curves of one side are named, and points of one side are not counted") {
  Side measured;
  Side predicted;
  add(measured, "rc", "throughput_ops_s", {{1, 1000}, {2, 2000}});
  add(measured, "tcp", "throughput_ops_s", {{1, 1000}});
  add(predicted, "rc", "throughput_ops_s", {{2, 2000}, {64, 9000}});
  add(predicted, "ud", "throughput_ops_s", {{1, 1000}});
  const Comparison comparison = compare(measured, predicted, {});
  REQUIRE(comparison.curves.size() == 1);
  CHECK(comparison.curves[0].ranges[0].predicted->points == 1);
  CHECK(comparison.curves[0].predicted.size() == 2);
  CHECK(comparison.only_measured == std::vector<CurveKey>{{"tcp", "busy", "throughput_ops_s"}});
  CHECK(comparison.only_predicted == std::vector<CurveKey>{{"ud", "busy", "throughput_ops_s"}});
}

TEST_CASE("measured values that no closed loop has are left out of errors and law") {
  Side measured;
  add(measured, "rc", "throughput_ops_s", {{1, 25000}, {2, 30000}, {4, 60000}});
  add(measured, "rc", "latency_mean_us", {{1, 50}, {2, 60}, {4, 60}});  // 1 / 25000 s is 40 us
  const Comparison comparison = compare(measured, measured, {});
  REQUIRE(comparison.left_out.size() == 1);
  CHECK(comparison.left_out[0].clients == 1);
  REQUIRE(comparison.curves.size() == 2);
  for (const CurveComparison& curve : comparison.curves) {
    CHECK(curve.measured.size() == 2);
    CHECK(curve.ranges[0].predicted->points == 2);
  }
  CHECK(comparison.curves[0].usl->lambda_ops_s == Approx(15000));
  measured.outstanding = 2;
  CHECK(compare(measured, measured, {}).left_out.empty());
}

TEST_CASE("sides that can't be compared are refused") {
  Side measured;
  Side predicted;
  add(measured, "rc", "throughput_ops_s", {{1, 1000}});
  add(predicted, "rc", "throughput_ops_s", {{2, 1000}});
  CHECK_THROWS_AS(compare(measured, predicted, {}), rkv::InputError);
  CHECK_THROWS_WITH(compare(measured, predicted, {}), Catch::Contains("no point in common"));
  Side window = measured;
  window.outstanding = 4;
  CHECK_THROWS_WITH(compare(measured, window, {}), Catch::Contains("load.window"));
  CHECK_THROWS_AS(compare(measured, window, {}), rkv::InputError);
}
