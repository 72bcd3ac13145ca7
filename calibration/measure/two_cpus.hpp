// How near each other two CPUs are, as threads see it that hand a cache line to one another. Header only.
#pragma once

#include <utility>
#include <vector>

#include "calibration/measure/sample.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"

namespace rkv::calibration {

// Time a cache line takes from one of both CPUs to the other, of those on which two threads take these turns.
// A quarter of a millisecond if nobody interrupts them; the median of several bursts, since either thread may
// be interrupted. One side is told.
[[nodiscard]] inline double line_hand_over_ns(Turns& turns, Turns::Side side) {
  constexpr unsigned bursts = 9;
  constexpr unsigned in_a_burst = 50;
  const auto hand_over = [&] {
    turns.await(side);
    turns.pass(side);
  };
  for (unsigned i = 0; i < 2; ++i) hand_over();  // the other one has come
  std::vector<double> times_ns(bursts);
  for (double& time_ns : times_ns) time_ns = each_of(in_a_burst, hand_over) / 2;
  return quantile(std::move(times_ns), 0.5);
}

// The same between the calling thread's CPU and another one, `other`.
[[nodiscard]] inline double line_hand_over_ns(int other) {
  double time_ns = 0;
  run_two(
      other, [&](Turns& turns) { time_ns = line_hand_over_ns(turns, Turns::Side::here); },
      [](Turns& turns) { static_cast<void>(line_hand_over_ns(turns, Turns::Side::there)); });
  return time_ns;
}

}  // namespace rkv::calibration
