// How near each other two CPUs are, as threads see it that wake one another. Header only.
#pragma once

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {

// In which a CPU whose thread waits has become idle. Who is woken works for so long before it answers: else
// it may wake a thread that is still on its way to sleep.
inline constexpr Duration idle_by_then{10'000};

// Time in which the calling thread wakes one on CPU `other` and is woken by it, some milliseconds' worth of
// them on average. Without their work before they answer.
[[nodiscard]] inline double wake_by_turns_ns(int other) {
  constexpr unsigned turns = 100;
  const Event here;
  const Event there;
  verbs::ThreadRuntime runtime;
  const auto thread = runtime.spawn({.name = "there", .cores = {other}}, [&] {
    for (unsigned turn = 0; turn <= turns; ++turn) {
      there.read();
      work_for(idle_by_then);
      here.write();
    }
  });
  there.write();  // the first turn starts the thread
  here.read();
  const double time_ns = each_of(turns, [&] {
    work_for(idle_by_then);
    there.write();
    here.read();
  });
  thread->join();
  return time_ns - 2.0 * static_cast<double>(idle_by_then.count());
}

}  // namespace rkv::calibration
