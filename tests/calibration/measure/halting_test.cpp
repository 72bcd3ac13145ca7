#include "calibration/measure/halting.hpp"

#include <array>
#include <catch2/catch.hpp>

using namespace rkv::calibration;

TEST_CASE("a CPU has halted where waking it costs nearer to what it does in the end", "[calibration]") {
  CHECK(first_halted(std::array{1.0, 1.1, 0.9, 15.0, 14.0}) == 3);
  CHECK(first_halted(std::array{1.0, 7.9, 8.1, 15.0}) == 2);
  CHECK(first_halted(std::array{1.0, 15.0, 1.0, 15.0}) == 1);
}

TEST_CASE("where waking costs the same at once, when CPUs halt does not show", "[calibration]") {
  CHECK_FALSE(first_halted(std::array{14.0, 15.0, 13.0}));
  CHECK_FALSE(first_halted(std::array{1.0, 15.0, 1.9}));
  CHECK(first_halted(std::array{1.0, 15.0, 2.0}));
  CHECK_FALSE(first_halted({}));
}
