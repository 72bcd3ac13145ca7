// Gaps between windows in which lines may be far from the run, worked out by hand.
#include <catch2/catch.hpp>

#include <vector>

#include "backends/sim/run/bends.hpp"

namespace rkv::sim::test {
namespace {

// 100 ns, whatever the walk, up to 150 ns; then all that the walk is longer comes on top. The first gap has
// a hundredth of the run, the others a quarter each, in the middle on average.
const std::vector<CyclePoint> saturated{{0, 100, 0.01, 50},
                                        {100, 100, 0.25, 150},
                                        {200, 150, 0.25, 250},
                                        {300, 250, 0.25, 350},
                                        {400, 350, 0, 0}};

}  // namespace

TEST_CASE("a bend between two windows is found by the lines on either side of it", "[sampling]") {
  // At 150 the chord is at 125 and both lines at 100: 25 / 125 of a quarter of the run.
  const std::vector<Bend> found = bends(saturated, 0.0499);
  REQUIRE(found.size() == 1);
  CHECK(found[0].from_walk_ns == 150);
  CHECK(found[0].to_walk_ns == 200);
  CHECK(bends(saturated, 0.0501).empty());
}

TEST_CASE("a bend the other way is found as well", "[sampling]") {
  std::vector<CyclePoint> points = saturated;
  for (CyclePoint& point : points) point.cycle_ns = 500 - point.cycle_ns;
  // 25 / 375 of a quarter.
  CHECK(bends(points, 0.0166).size() == 1);
  CHECK(bends(points, 0.0167).empty());
}

TEST_CASE("a bend counts where the run goes, which may be near a window", "[sampling]") {
  std::vector<CyclePoint> points = saturated;
  points[1].walk_after_ns = 180;  // chord 140; lines from the left 100, from the right 130: 10 / 140
  const std::vector<Bend> found = bends(points, 0.0178);
  REQUIRE(found.size() == 1);
  CHECK(found[0].from_walk_ns == 180);
  CHECK(found[0].to_walk_ns == 200);
  CHECK(bends(points, 0.0179).empty());
  points[1].part_after = 0;  // nothing of the run is there
  CHECK(bends(points, 0.0178).empty());
}

TEST_CASE("where there is one line only it is not believed", "[sampling]") {
  // From 0 to 100: chord 100, line from the right 75 at 50; 25 / 100 of a hundredth.
  CHECK(bends(saturated, 0.0024).size() == 1);
  CHECK(bends(std::vector<CyclePoint>(saturated.begin(), saturated.begin() + 3), 0).empty());
}

TEST_CASE("straight lines have no bends", "[sampling]") {
  const std::vector<CyclePoint> straight{
      {0, 10, 0.3, 30}, {100, 110, 0.3, 150}, {200, 210, 0.3, 250}, {300, 310, 0, 0}};
  CHECK(bends(straight, 1e-9).empty());
  CHECK(bends({}, 0).empty());
}

}  // namespace rkv::sim::test
