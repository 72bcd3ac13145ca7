#include "calibration/measure/neighbours.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace rkv::calibration;

namespace {

constexpr double one_ms = 1e6;

// What a store costs whose entries take 12 ns in the caches and `lost` out of them.
std::vector<AfterPause> costs(double kept_ns, double lost_ns) {
  std::vector<AfterPause> all;
  for (const double pause : {0.0, 1.0, 3.0, 6.0, 12.0, 25.0, 50.0})
    all.push_back({pause * one_ms, 12 + (lost_ns - 12) * lost_part(pause * one_ms, kept_ns)});
  return all;
}

}  // namespace

TEST_CASE("lines are lost by three steps", "[calibration]") {
  CHECK(lost_part(0, 6 * one_ms) == 0);
  CHECK(lost_part(2 * one_ms, 6 * one_ms) == Approx(0.080301));  // x = 1: 1 - 2.5 / e
  CHECK(lost_part(6 * one_ms, 6 * one_ms) == Approx(0.576810));  // x = 3: 1 - 8.5 / e^3
  CHECK(lost_part(1000 * one_ms, 6 * one_ms) == Approx(1));
}

TEST_CASE("what pauses cost tells how long lines are kept, and what a lost one costs", "[calibration]") {
  const double kept_ms = GENERATE(1.5, 5.0, 20.0);
  const double lost_ns = GENERATE(60.0, 150.0);
  INFO(kept_ms << " ms, " << lost_ns << " ns");
  const auto exact = neighbours_of(costs(kept_ms * one_ms, lost_ns));
  REQUIRE(exact);
  CHECK(exact->kept_ns == Approx(kept_ms * one_ms).epsilon(0.03));
  CHECK(exact->lost_entry_ns == Approx(lost_ns).epsilon(0.03));

  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1, 0.1);
  std::vector<AfterPause> noisy = costs(kept_ms * one_ms, lost_ns);
  for (AfterPause& cost : noisy) cost.entry_ns *= noise(random);
  const auto about = neighbours_of(noisy);
  REQUIRE(about);
  CHECK(about->kept_ns == Approx(kept_ms * one_ms).epsilon(0.5));
  CHECK(about->lost_entry_ns == Approx(lost_ns).epsilon(0.25));
}

TEST_CASE("a machine of its own has no neighbours", "[calibration]") {
  CHECK_FALSE(neighbours_of(costs(5 * one_ms, 12)));
  CHECK_FALSE(neighbours_of(costs(5 * one_ms, 15)));  // the kernel's ticks take a few lines
}

TEST_CASE("what is lost of a store that was touched lately is taken off its cost", "[calibration]") {
  const Neighbours neighbours{6 * one_ms, 150};
  CHECK(cost_in_caches(20, 0, neighbours) == 20);
  CHECK(cost_in_caches(20 + 0.080301 * 130, 2 * one_ms, neighbours) == Approx(20));
}
