// What threads of other programs, and the kernel's own, have had of the CPUs, as Linux's files tell: how much
// of it is of threads that weigh more, and how often those that run for long change their CPU. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rkv::calibration {

// A thread since it began. Only those that the scheduler for all shares the CPUs out to (SCHED_OTHER).
struct OtherThread {
  int nice = 0;
  double ran_ns = 0;
  std::uint64_t turns = 0;             // after which it slept
  std::optional<std::uint64_t> moves;  // to another CPU, where Linux tells
};

// By the thread's number.
using OtherThreads = std::map<int, OtherThread>;

// All but this process's. Threads that end meanwhile are left out, and all if Linux does not tell how long
// they ran (CONFIG_SCHED_INFO).
[[nodiscard]] OtherThreads other_threads();
// A thread, by what is in its files stat, schedstat, status and sched (/proc/PID/task/TID); the last may be
// empty. Nothing if it is of another policy or its files are none.
[[nodiscard]] std::optional<OtherThread> other_thread(const std::string& stat, const std::string& schedstat,
                                                      const std::string& status, const std::string& sched);

// Of the threads that ran for 0.1 ms or more at a time, between two looks.
struct LongTurns {
  double heavy_part = 0;         // of their time, the part that those of a nice below 0 had
  std::optional<double> weight;  // of these, a thread of nice 0 being 1; the mean over their time
  // Of all their turns, the part before which they changed the CPU. By the rule of succession, (changes + 1)
  // / (turns + 2), because none in a few seconds is not never.
  std::optional<double> changing;
};

// Nothing where none ran for so long.
[[nodiscard]] std::optional<LongTurns> long_turns(const OtherThreads& before, const OtherThreads& after);

}  // namespace rkv::calibration
