#include "core/measure/histogram.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "core/error.hpp"
#include "tests/support/mutate_json.hpp"

using rkv::Duration;
using rkv::Histogram;

namespace {

// Uniform in the logarithm, so that every magnitude from 1 ns to the end of the range is as likely.
std::vector<std::uint64_t> values_of_all_magnitudes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0.0, Histogram::value_bits);
  std::vector<std::uint64_t> values(count);
  for (auto& value : values) {
    value = std::min(static_cast<std::uint64_t>(std::exp2(exponent(random))), Histogram::largest_ns);
  }
  return values;
}

Histogram of(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (const auto value : values) {
    histogram.record(Duration(value));
  }
  return histogram;
}

}  // namespace

TEST_CASE("an empty histogram has no values") {
  const Histogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.min_ns() == 0);
  CHECK(histogram.max_ns() == 0);
  CHECK(histogram.mean_ns() == 0);
  CHECK(histogram.stddev_ns() == 0);
  CHECK(histogram.quantile_ns(0.5) == 0);
  CHECK(histogram.buckets().empty());
}

TEST_CASE("values below 256 ns are kept exactly") {
  // Worked by hand: sum 40, mean 5, squared deviations 9+1+1+1+0+0+4+16 = 32, population variance 4.
  const auto histogram = of({2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(histogram.count() == 8);
  CHECK(histogram.min_ns() == 2);
  CHECK(histogram.max_ns() == 9);
  CHECK(histogram.mean_ns() == 5.0);
  CHECK(histogram.stddev_ns() == 2.0);
  CHECK(histogram.quantile_ns(0.0) == 2);
  CHECK(histogram.quantile_ns(0.125) == 2);  // rank 1
  CHECK(histogram.quantile_ns(0.126) == 4);  // rank 2
  CHECK(histogram.quantile_ns(0.5) == 4);    // rank 4
  CHECK(histogram.quantile_ns(0.51) == 5);   // rank 5
  CHECK(histogram.quantile_ns(1.0) == 9);
}

TEST_CASE("a quantile that is not exact in binary has the rank it has in decimal") {
  std::vector<std::uint64_t> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i + 1;
  }
  const auto histogram = of(values);
  for (std::uint64_t percent = 1; percent <= 100; ++percent) {
    CHECK(histogram.quantile_ns(static_cast<double>(percent) / 100.0) == 2 * percent);
  }
}

TEST_CASE("every value falls in a bucket at most 1/128 of it wide, and buckets do not overlap") {
  for (const auto value : values_of_all_magnitudes(2000, 1)) {
    const auto bucket = of({value, Histogram::largest_ns}).buckets().front();
    REQUIRE(bucket.first_ns <= value);
    REQUIRE(value <= bucket.last_ns);
    REQUIRE((bucket.last_ns - bucket.first_ns) * 128 <= value);
  }
  const auto buckets = of(values_of_all_magnitudes(20'000, 1)).buckets();
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    REQUIRE(buckets[i].first_ns > buckets[i - 1].last_ns);
  }
}

TEST_CASE("powers of two and their neighbours fall in the right buckets") {
  for (std::uint32_t bit = 0; bit < Histogram::value_bits; ++bit) {
    const auto power = std::uint64_t{1} << bit;
    for (const auto value : {power - 1, power, power + 1}) {
      const auto bucket = of({value, Histogram::largest_ns}).buckets().front();
      REQUIRE(bucket.first_ns <= value);
      REQUIRE(bucket.last_ns >= value);
    }
  }
}

TEST_CASE("quantiles of random values are never below the true ones and at most 1/128 above") {
  auto values = values_of_all_magnitudes(50'000, 2);
  const auto histogram = of(values);
  std::sort(values.begin(), values.end());
  for (const double q : {0.0001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    const auto truth = values[rank - 1];
    REQUIRE(histogram.quantile_ns(q) >= truth);
    REQUIRE(static_cast<double>(histogram.quantile_ns(q)) <= static_cast<double>(truth) * (1 + 1.0 / 128.0));
  }
  CHECK(histogram.min_ns() == values.front());
  CHECK(histogram.max_ns() == values.back());
}

TEST_CASE("the standard deviation of large close values does not cancel away") {
  // An hour plus 0 or 2 ns: the mean is 3.6e12 and the deviation 1. In doubles, E[x^2] - E[x]^2 gives 0 or
  // worse.
  Histogram histogram;
  for (int i = 0; i < 1000; ++i) {
    histogram.record(std::chrono::hours(1) + Duration(i % 2 * 2));
  }
  CHECK(histogram.mean_ns() == 3.6e12 + 1);
  CHECK(histogram.stddev_ns() == Approx(1.0).epsilon(1e-12));
}

TEST_CASE("values out of range are recorded at its ends and counted") {
  Histogram histogram;
  histogram.record(Duration(-5));
  histogram.record(std::chrono::hours(2));
  histogram.record(Duration(7));
  CHECK(histogram.count() == 3);
  CHECK(histogram.out_of_range() == 2);
  CHECK(histogram.min_ns() == 0);
  CHECK(histogram.max_ns() == Histogram::largest_ns);
}

TEST_CASE("merging is the same as recording everything in one") {
  const auto left = values_of_all_magnitudes(1000, 3);
  const auto right = values_of_all_magnitudes(500, 4);
  auto all = left;
  all.insert(all.end(), right.begin(), right.end());
  auto merged = of(left);
  merged.merge(of(right));
  merged.merge(Histogram());
  CHECK(merged == of(all));
  merged.clear();
  CHECK(merged == Histogram());
}

TEST_CASE("a histogram survives being sent") {
  for (const auto& histogram : {Histogram(), of({0}), of(values_of_all_magnitudes(1000, 5))}) {
    const auto text = histogram.to_json().dump();
    CHECK(Histogram::from_json(nlohmann::json::parse(text)) == histogram);
  }
}

TEST_CASE("a received histogram whose numbers contradict each other is refused") {
  const auto good = of({300, 300, 5000, 70'000}).to_json();
  const auto refused = [&](const char* pointer, nlohmann::json value) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = std::move(value);
    CHECK_THROWS_AS(Histogram::from_json(bad), rkv::Error);
  };
  CHECK_NOTHROW(Histogram::from_json(good));
  refused("/sub_bucket_bits", 8);
  refused("/counts", "none");
  refused("/counts/0", 3);
  refused("/counts/0/0", 1'000'000);
  refused("/counts/0/0", -1);
  refused("/counts/0/1", 0);
  refused("/counts/0/1", std::uint64_t{1} << 63);
  refused("/counts/1/0", good["/counts/0/0"_json_pointer]);
  refused("/min_ns", 5000);
  refused("/max_ns", 300);
  refused("/sum_ns", "1");
  refused("/sum_ns", "not a number");
  refused("/sum_ns", "999999999999999999999999999999999999999999");
  refused("/sum_of_squares_ns2", "");
  refused("/out_of_range", 5);
  auto without = good;
  without.erase("max_ns");
  CHECK_THROWS_AS(Histogram::from_json(without), rkv::Error);

  // An hour twice: its bucket would allow larger squares, but the values do not differ.
  auto same = of({3'600'000'000'000, 3'600'000'000'000}).to_json();
  CHECK_NOTHROW(Histogram::from_json(same));
  same["sum_of_squares_ns2"] = "25920000000000000000000001";
  CHECK_THROWS_AS(Histogram::from_json(same), rkv::Error);
}

TEST_CASE("random changes to a sent histogram are refused or harmless") {
  const auto good = of(values_of_all_magnitudes(30, 6)).to_json();
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto changed = good;
    rkv::test::mutate(changed, random);
    try {
      const auto histogram = Histogram::from_json(changed);
      REQUIRE(histogram.min_ns() <= histogram.max_ns());
      REQUIRE(std::isfinite(histogram.stddev_ns()));
      REQUIRE(histogram.quantile_ns(0.5) <= histogram.max_ns());
    } catch (const rkv::Error&) {
      ++refused;
    }
  }
  CHECK(refused > 2000);
}
