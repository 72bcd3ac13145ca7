#include "calibration/measure/sample.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using rkv::calibration::Estimate;
using rkv::calibration::estimate_of;
using rkv::calibration::quantile;
using rkv::calibration::Samples;
using rkv::calibration::typical_of;

TEST_CASE("quantiles lie between neighbours, in whatever order values come", "[calibration]") {
  const std::vector<double> values{40, 10, 30, 20};
  CHECK(quantile(values, 0) == 10);
  CHECK(quantile(values, 0.25) == Approx(17.5));
  CHECK(quantile(values, 0.5) == Approx(25));
  CHECK(quantile(values, 1) == 40);
  CHECK(quantile({7}, 0.3) == 7);
}

TEST_CASE("a figure is the mean with the interquartile range", "[calibration]") {
  CHECK(estimate_of({7}) == Estimate{7, 0, 1});
  CHECK(estimate_of({3, 1, 2, 10, 4}) == Estimate{4, 2, 5});
  // A quarter of the repetitions takes half as long again.
  std::vector<double> values(40, 100);
  std::fill_n(values.begin() + 7, 10, 150);
  CHECK(estimate_of(values).value == Approx(112.5));
}

TEST_CASE("a figure is the same whatever a tenth of the repetitions suffered", "[calibration]") {
  std::vector<double> values{5, 3, 7, 1, 9, 2, 8, 4, 6, 10};
  // 2, 2, 3 to 8, 9, 9
  CHECK(estimate_of(values).value == 5.5);
  values.back() = 1e9;
  CHECK(estimate_of(values).value == 5.5);
}

TEST_CASE("of what is now and then something else the typical one is the median", "[calibration]") {
  CHECK(typical_of({3, 1, 2, 1e9, 4}) == Estimate{3, 2, 5});
  Samples samples;
  for (const double value : {3, 1, 2, 10, 4}) samples.add("run", value);
  CHECK(samples.find("run")->value == 4);
  CHECK(samples.find_typical("run")->value == 3);
  CHECK_FALSE(samples.find_typical("gone"));
}

TEST_CASE("what is made of two figures has both spreads and the fewer repetitions", "[calibration]") {
  const Estimate a{10, 3, 7};
  const Estimate b{4, 4, 5};
  CHECK(a - b == Estimate{6, 5, 5});
  CHECK(a + b == Estimate{14, 5, 5});
  CHECK(a * -2 == Estimate{-20, 6, 7});
}

TEST_CASE("samples say why they are not there", "[calibration]") {
  Samples samples;
  samples.add("walk/2", 1);
  samples.add("walk/1", 1);
  samples.add("other", 1);
  samples.cannot("gone", "first");
  samples.cannot("gone", "second");
  CHECK(samples.names("walk/") == std::vector<std::string>{"walk/1", "walk/2"});
  CHECK_FALSE(samples.find("gone"));
  CHECK(samples.why_not("gone") == "first");
  CHECK(samples.why_not("never heard of") == "not measured");
}
