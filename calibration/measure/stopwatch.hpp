// Timing pieces of code by the machine's monotonic clock, in nanoseconds. Header only; thread-safe.
#pragma once

#include <time.h>

#include <string>

#include "backends/verbs/port/clock.hpp"
#include "calibration/measure/sample.hpp"

namespace rkv::calibration {

// Keeps the compiler from leaving out what made the value.
template <typename Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(value) : "memory");
}

[[nodiscard]] inline double nanoseconds_between(Instant start, Instant end) {
  return static_cast<double>((end - start).count());
}

// CPU time that the calling thread has had.
[[nodiscard]] inline double cpu_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Of one of `count` runs in a row, on average: for what may be repeated.
template <typename Code>
[[nodiscard]] double each_of(unsigned count, Code&& code) {
  const Instant start = verbs::clock_now();
  for (unsigned i = 0; i < count; ++i) code();
  return nanoseconds_between(start, verbs::clock_now()) / count;
}

// Of one run between two readings of the clock, the cost of one reading included.
template <typename Code>
[[nodiscard]] double timed(Code&& code) {
  const Instant start = verbs::clock_now();
  code();
  return nanoseconds_between(start, verbs::clock_now());
}

// On the CPU.
inline void work_for(Duration time) {
  const Instant end = verbs::clock_now() + time;
  while (verbs::clock_now() < end) {
  }
}

// Single timings by what was timed; a repetition's medians go into the samples, without the interrupts that
// some had. What is measured with timed() has a name that ends so, and the clock's cost is taken off when the
// profile is made.
class Timings {
 public:
  template <typename Code>
  void time(const std::string& name, Code&& code) {
    times_.add(name, timed(code));
  }
  void add(const std::string& name, double nanoseconds) { times_.add(name, nanoseconds); }
  void medians_to(Samples& samples) const {
    for (const std::string& name : times_.names("")) samples.add(name, quantile(times_.values(name), 0.5));
  }

 private:
  Samples times_;
};

}  // namespace rkv::calibration
