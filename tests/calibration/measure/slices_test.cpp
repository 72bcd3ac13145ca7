#include "calibration/measure/slices.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace rkv::calibration;

namespace {

constexpr double ms = 1e6;

// Threads that take turns of `ticks` ticks each, seen by one of them: it runs, then is away for the others'.
std::vector<Gap> turns(double tick_ns, unsigned ticks, unsigned threads, unsigned count) {
  std::vector<Gap> gaps;
  const double slice = tick_ns * ticks;
  for (unsigned i = 0; i < count; ++i) {
    const double start = 1e12 + i * slice * threads;
    gaps.push_back({start + 2'000, start + slice * (threads - 1) + 5'000});
  }
  return gaps;
}

}  // namespace

TEST_CASE("slices last from one absence to the next, interruptions and all", "[calibration]") {
  const std::vector<Gap> gaps{{0, 4 * ms},
                              {5 * ms, 5.03 * ms},  // an interrupt
                              {7 * ms, 11 * ms},
                              {13 * ms, 17 * ms}};
  CHECK(slices_between(gaps) == std::vector<double>{3 * ms, 2 * ms});
  CHECK(absences(gaps) == std::vector<double>{0, 7 * ms, 13 * ms});
  CHECK(slices_between({}).empty());
  CHECK(slices_between({{0, 4 * ms}}).empty());
}

TEST_CASE("the tick is the period that slices end at", "[calibration]") {
  const auto tick_ms = GENERATE(1.0, 1000.0 / 300, 4.0, 10.0);
  const auto ticks = GENERATE(1U, 7U);
  std::vector<double> times;
  for (const unsigned threads : {2U, 3U, 4U}) {
    for (const double time : absences(turns(tick_ms * ms, ticks, threads, 60))) times.push_back(time);
  }
  INFO(tick_ms << " ms, slices of " << ticks);
  REQUIRE(tick_of(times));
  CHECK(*tick_of(times) == Approx(tick_ms * ms));
}

TEST_CASE("a tick is found among absences that have nothing to do with it, and not where none is",
          "[calibration]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> anywhere(0, 1e9);
  std::vector<double> noise;
  for (int i = 0; i < 300; ++i) noise.push_back(anywhere(random));
  CHECK_FALSE(tick_of(noise));
  std::vector<double> times = absences(turns(4 * ms, 1, 2, 400));
  for (const double time : absences(turns(4 * ms, 1, 3, 400))) times.push_back(time);
  times.insert(times.end(), noise.begin(), noise.end());
  REQUIRE(tick_of(times));
  CHECK(*tick_of(times) == Approx(4 * ms));
  CHECK_FALSE(tick_of({0, 4 * ms, 8 * ms}));  // too few
}

TEST_CASE("a slice that ends at ticks says between which its length is", "[calibration]") {
  CHECK(slice_range(3.92 * ms, 4 * ms).above_ns == 0);
  CHECK(slice_range(3.92 * ms, 4 * ms).up_to_ns == 4 * ms);
  CHECK(slice_range(3.1 * ms, 1 * ms).above_ns == 2 * ms);
  CHECK(slice_range(3.1 * ms, 1 * ms).up_to_ns == 3 * ms);
  CHECK(slice_range(0.3 * ms, 4 * ms).up_to_ns == 4 * ms);
}
