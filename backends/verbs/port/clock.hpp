// The real machine's clock behind PortClock, and what is left until a deadline in the form that ppoll,
// pselect and epoll_pwait2 take.
#pragma once

#include <time.h>

#include <algorithm>

#include "core/port/time.hpp"

namespace rkv::verbs {

// CLOCK_MONOTONIC, read in user space by the vDSO when the kernel's clock source allows it (tsc: some 20 ns).
[[nodiscard]] inline Instant clock_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return Instant{std::chrono::seconds{time.tv_sec} + Duration{time.tv_nsec}};
}

// The Unix epoch on this clock, by what the system's clock says now.
[[nodiscard]] inline Instant unix_epoch() {
  return clock_now() -
         std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
}

// A relative timeout, computed from `now`: null for a deadline that never comes, zero for one in the past.
class Timeout {
 public:
  Timeout(Instant deadline, Instant now) : unlimited_(deadline == never) {
    const Duration left = std::max(deadline - now, Duration::zero());
    time_.tv_sec = left.count() / 1'000'000'000;
    time_.tv_nsec = left.count() % 1'000'000'000;
  }
  [[nodiscard]] const timespec* get() const { return unlimited_ ? nullptr : &time_; }

 private:
  bool unlimited_;
  timespec time_{};
};

}  // namespace rkv::verbs
