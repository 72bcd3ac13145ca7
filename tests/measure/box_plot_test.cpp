#include "core/measure/box_plot.hpp"

#include <catch2/catch.hpp>

using rkv::Duration;
using rkv::Histogram;

TEST_CASE("whiskers end at the last values within one and a half boxes") {
  Histogram histogram;
  // Ranks 3, 5 and 8 of 10 make the box from 100 to 120, so the fences are at 70 and 150.
  for (const int value_ns : {10, 71, 100, 105, 110, 110, 115, 120, 149, 200}) {
    histogram.record(Duration(value_ns));
  }
  const auto box = rkv::box_plot(histogram);
  CHECK(box.whisker_low_ns == 71);
  CHECK(box.quartile_1_ns == 100);
  CHECK(box.median_ns == 110);
  CHECK(box.quartile_3_ns == 120);
  CHECK(box.whisker_high_ns == 149);
}

TEST_CASE("whiskers without outliers are the extremes") {
  Histogram histogram;
  for (int value_ns = 1; value_ns <= 100; ++value_ns) {
    histogram.record(Duration(value_ns));
  }
  const auto box = rkv::box_plot(histogram);
  CHECK(box.whisker_low_ns == 1);
  CHECK(box.quartile_1_ns == 25);
  CHECK(box.quartile_3_ns == 75);
  CHECK(box.whisker_high_ns == 100);
}
