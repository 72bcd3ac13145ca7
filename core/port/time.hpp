// Time as core sees it: nanoseconds of the backend's monotonic clock. There is no now() here on purpose:
// only a Runtime knows what time it is, because in simulation time passes only where the port says so.
#pragma once

#include <chrono>
#include <cstdint>

namespace rkv {

using Duration = std::chrono::nanoseconds;

struct PortClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<PortClock>;
  static constexpr bool is_steady = true;
};

using Instant = PortClock::time_point;

// A deadline that never comes.
inline constexpr Instant never = Instant::max();

}  // namespace rkv
