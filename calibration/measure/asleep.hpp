// Giving another thread the time to fall asleep, by spinning: a thread that slept itself would wake up
// slower. Header only; thread-safe.
#pragma once

#include "backends/verbs/port/clock.hpp"

namespace rkv::calibration {

// Many times what going to sleep takes, on a CPU where it has to itself.
inline constexpr Duration falling_asleep_takes{60'000};

inline void until_asleep() {
  const Instant end = verbs::clock_now() + falling_asleep_takes;
  while (verbs::clock_now() < end) {
  }
}

}  // namespace rkv::calibration
