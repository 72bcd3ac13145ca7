// Time slices and the tick, from when threads that spin on one CPU were away from it. Pure functions;
// thread-safe.
#pragma once

#include <optional>
#include <vector>

namespace rkv::calibration {

// A pause in a spinning thread's readings of the clock, in nanoseconds of it: from the last before to the
// first after.
struct Gap {
  double start_ns = 0;
  double end_ns = 0;
};

// Shorter pauses are interrupts and the like: the thread kept its slice. Slices of Linux are 0.7 ms or more.
inline constexpr double shortest_absence_ns = 200'000;

// How long one thread ran each time, from an absence to the next. Its gaps are in order; time before the
// first and behind the last is not counted, as the slice began or ended unseen.
[[nodiscard]] std::vector<double> slices_between(const std::vector<Gap>& gaps);

// When each absence began.
[[nodiscard]] std::vector<double> absences(const std::vector<Gap>& gaps);

// The tick that preemptions happen at: the longest of the periods that Linux can be configured with
// (CONFIG_HZ 100, 250, 300, 1000) that most of the times are in phase with; nothing where none is, or of
// fewer than 12. Where all slices are a whole number of one of the longer periods, they look like that one's,
// and a simulation with it ends them at the same times. In phase: the mean of exp(2 pi i t / period) is
// longer than 1/2 (Rayleigh's measure of circular data: Mardia and Jupp, "Directional Statistics", 2000).
[[nodiscard]] std::optional<double> tick_of(const std::vector<double>& times_ns);

// Slices end at the first tick at which they are used up, so one of `observed` nanoseconds says that the
// scheduler's own is longer than that less a tick, and not longer than it.
struct SliceRange {
  double above_ns = 0;
  double up_to_ns = 0;
};
[[nodiscard]] SliceRange slice_range(double observed_ns, double tick_ns);

}  // namespace rkv::calibration
