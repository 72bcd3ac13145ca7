// The device's clocks.
#pragma once

#include <time.h>

#include <cstdint>

namespace rkv::soft {

inline std::uint64_t clock_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}
inline std::uint64_t wall_clock_ns() {
  return clock_ns(CLOCK_REALTIME);
}

}  // namespace rkv::soft
