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

}  // namespace rkv::sim
