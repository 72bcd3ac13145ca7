// Between which windows of a level (cycle_times.hpp) a line may be far from the run.
//
// Until a resource is saturated, a longer walk changes little but who waits where; then each of its
// nanoseconds counts. So cycles bend, and lines between windows on both sides of a bend are above it: where
// one CPU takes all interrupts, a run of ten million operations over TCP with 20 clients was half a percent
// too slow for that alone (five seeds at commit 8ba7566: -0.75 % without these windows, -0.25 % with them).
//
// The cycle between two windows lies between their chord and the nearer one of the lines that the next
// windows on either side continue, as long as the slope grows all the way or falls all the way. How far these
// are apart is what the chord may be wrong by. (One line alone may be far off for no other reason than that
// its windows are close to each other, so of a level's first and last gap nothing is said.)
#pragma once

#include <span>
#include <vector>

namespace rkv::sim {

// One window, and what the run does at its level up to the next one.
struct CyclePoint {
  double walk_ns = 0;
  double cycle_ns = 0;
  double part_after = 0;     // of the run's operations
  double walk_after_ns = 0;  // of these, on average
};

// Between two windows, from where another one would tell most.
struct Bend {
  double from_walk_ns = 0;
  double to_walk_ns = 0;
};

// Those gaps between neighbours that may put the run wrong by more than `part` of its time. `points` by
// walk_ns, no two with the same.
[[nodiscard]] std::vector<Bend> bends(std::span<const CyclePoint> points, double part);

}  // namespace rkv::sim
