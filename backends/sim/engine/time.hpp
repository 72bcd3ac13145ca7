// Simulated time: int64 picoseconds since the start of the simulation, the only clock that the models know.
// (SimGrid's own is a double, whose last digit passes a picosecond after about an hour.)
#pragma once

#include <cstdint>
#include <limits>

#include "core/port/time.hpp"

namespace rkv::sim {

using Ps = std::int64_t;

inline constexpr Ps ps_in_ns = 1000;
inline constexpr Ps forever = std::numeric_limits<Ps>::max() / 4;  // sums of a few of them stay in range

[[nodiscard]] constexpr Instant to_instant(Ps time) {
  return Instant(Duration(time / ps_in_ns));
}
[[nodiscard]] constexpr Duration to_duration(Ps time) {
  return Duration(time / ps_in_ns);
}
[[nodiscard]] constexpr Ps to_ps(Duration time) {
  return time.count() >= forever / ps_in_ns ? forever : time.count() * ps_in_ns;
}
[[nodiscard]] constexpr Ps to_ps(Instant time) {
  return to_ps(time.time_since_epoch());
}

// The first tick that is not before this time. Ticks are at the multiples of their period, on all CPUs.
[[nodiscard]] constexpr Ps tick_from(Ps time, Ps period) {
  return (time + period - 1) / period * period;
}

// Work is CPU time of a thread that has its core to itself. At a lower speed it takes longer.
inline constexpr int full_speed_permille = 1000;

[[nodiscard]] constexpr Ps time_of(Ps work, int speed_permille) {
  if (speed_permille == full_speed_permille) return work;
  return (work / speed_permille) * full_speed_permille +
         ((work % speed_permille) * full_speed_permille + speed_permille - 1) / speed_permille;
}
[[nodiscard]] constexpr Ps work_in(Ps time, int speed_permille) {
  if (speed_permille == full_speed_permille) return time;
  return (time / full_speed_permille) * speed_permille +
         (time % full_speed_permille) * speed_permille / full_speed_permille;
}

}  // namespace rkv::sim
