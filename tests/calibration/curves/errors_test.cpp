// Errors of curves, with numbers worked out by hand.
#include <catch2/catch.hpp>

#include "calibration/curves/errors.hpp"

using namespace rkv::calibration;

TEST_CASE("points are compared where both curves have them") {
  const auto points = compared_points({{1, 10}, {2, 20}, {4, 40}}, {{2, 25}, {3, 30}, {4, 30}});
  REQUIRE(points.size() == 2);
  CHECK(points[0].clients == 2);
  CHECK(points[0].measured == 20);
  CHECK(points[0].predicted == 25);
  CHECK(points[0].error_percent() == Approx(25));
  CHECK(points[1].error_percent() == Approx(-25));
  CHECK(compared_points({{1, 0}, {2, 1}}, {{1, 5}, {2, 5}}).size() == 1);
}

TEST_CASE("the mean absolute percentage error and the worst point") {
  const std::vector<ComparedPoint> points{{1, 100, 110}, {2, 200, 150}, {4, 400, 420}};  // +10 %, -25 %, +5 %
  const auto errors = curve_errors(points, "latency_mean_us");
  REQUIRE(errors);
  CHECK(errors->points == 3);
  CHECK(errors->mean_absolute_error_percent == Approx(40.0 / 3));
  CHECK(errors->worst.clients == 2);
  CHECK(errors->worst.error_percent() == Approx(-25));
  CHECK_FALSE(errors->shape);  // a latency has none
  CHECK_FALSE(curve_errors({}, "latency_mean_us"));
}

TEST_CASE("a perfect prediction has no error") {
  const std::vector<ComparedPoint> points{{1, 100, 100}, {2, 200, 200}, {4, 100, 100}};
  const auto errors = curve_errors(points, "throughput_ops_s");
  REQUIRE(errors);
  CHECK(errors->mean_absolute_error_percent == 0);
  REQUIRE(errors->shape);
  CHECK(errors->shape->kind == ShapeError::Kind::peak);
  CHECK(errors->shape->grid_steps == 0);
  CHECK(errors->shape->height_error_percent() == 0);
}

TEST_CASE("a peak's position in steps and its height") {
  // Measured: 300 with 3 clients. Predicted: 330 with 8, two points later.
  const std::vector<ComparedPoint> points{{1, 100, 100}, {2, 200, 190}, {3, 300, 280},
                                          {4, 250, 320}, {8, 200, 330}, {9, 100, 300}};
  const auto shape = shape_error(points);
  REQUIRE(shape);
  CHECK(shape->kind == ShapeError::Kind::peak);
  CHECK(shape->measured_clients == 3);
  CHECK(shape->predicted_clients == 8);
  CHECK(shape->grid_steps == 2);
  CHECK(shape->measured_height == 300);
  CHECK(shape->predicted_height == 330);
  CHECK(shape->height_error_percent() == Approx(10));
}

TEST_CASE("up to 5 % above the last point is no peak") {
  const std::vector<ComparedPoint> level{{1, 50, 50}, {2, 105, 100}, {3, 100, 100}};
  CHECK(shape_error(level)->kind == ShapeError::Kind::plateau);
  const std::vector<ComparedPoint> peak{{1, 50, 50}, {2, 105.1, 100}, {3, 100, 100}};
  CHECK(shape_error(peak)->kind == ShapeError::Kind::peak);
}

TEST_CASE("a plateau is the mean of the last third, reached at 90 %") {
  // Seven points: the last three are the third. Measured: (90 + 100 + 101) / 3 = 97, 90 % is 87.3: 16
  // clients. Predicted: (50 + 60 + 70) / 3 = 60, 90 % is 54: 64 clients, two points later.
  const std::vector<ComparedPoint> points{{1, 10, 5},   {2, 20, 10},   {4, 40, 20},  {8, 87, 40},
                                          {16, 90, 50}, {32, 100, 52}, {64, 101, 78}};
  const auto shape = shape_error(points);
  REQUIRE(shape);
  CHECK(shape->kind == ShapeError::Kind::plateau);
  CHECK(shape->measured_height == Approx(97));
  CHECK(shape->predicted_height == Approx(60));
  CHECK(shape->height_error_percent() == Approx((60.0 / 97 - 1) * 100));
  CHECK(shape->measured_clients == 16);
  CHECK(shape->predicted_clients == 64);
  CHECK(shape->grid_steps == 2);
}

TEST_CASE("a plateau that is predicted too early has negative steps") {
  const std::vector<ComparedPoint> points{{1, 10, 100}, {2, 50, 100}, {3, 100, 100}};
  const auto shape = shape_error(points);
  REQUIRE(shape);
  CHECK(shape->measured_clients == 3);
  CHECK(shape->predicted_clients == 1);
  CHECK(shape->grid_steps == -2);
}

TEST_CASE("two points have no shape") {
  const std::vector<ComparedPoint> points{{1, 10, 10}, {2, 5, 5}};
  CHECK_FALSE(shape_error(points));
  const auto errors = curve_errors(points, "throughput_ops_s");
  REQUIRE(errors);
  CHECK_FALSE(errors->shape);
}
