// How near each other two CPUs are, as threads see it that wake one another. Header only.
#pragma once

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {

// Time in which the calling thread wakes one on CPU `other` and is woken by it, some milliseconds' worth of
// them on average. Both work before they answer, so that they wake a CPU that is idle; without their work.
[[nodiscard]] inline double wake_by_turns_ns(int other) {
  constexpr unsigned turns = 100;
  constexpr Duration each_works{10'000};
  const Event here;
  const Event there;
  verbs::ThreadRuntime runtime;
  const auto thread = runtime.spawn({.name = "there", .cores = {other}}, [&] {
    for (unsigned turn = 0; turn <= turns; ++turn) {
      there.read();
      work_for(each_works);
      here.write();
    }
  });
  there.write();  // the first turn starts the thread
  here.read();
  const double time_ns = each_of(turns, [&] {
    work_for(each_works);
    there.write();
    here.read();
  });
  thread->join();
  return time_ns - 2.0 * static_cast<double>(each_works.count());
}

}  // namespace rkv::calibration
