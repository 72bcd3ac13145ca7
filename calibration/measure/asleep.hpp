// Knowing that another thread has fallen asleep, as Linux shows it: on a busy machine that can take any time.
// Header only.
#pragma once

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

#include "backends/verbs/port/clock.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {

// One sleeping thread, one that waits for it.
class Sleeper {
 public:
  // By the thread that will sleep, while it is awake and before anyone awaits it.
  void is_this_thread() { id_.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_release); }

  // Spins, as a thread that slept itself would be slower afterwards, until the other one sleeps; not for
  // ever.
  void await_sleep() const {
    const std::string file = fmt::format("/proc/self/task/{}/stat", id_.load(std::memory_order_acquire));
    const Instant end = verbs::clock_now() + longest;
    while (state_in(file) != 'S' && verbs::clock_now() < end) {
    }
    // Reading files has filled this CPU's caches with other things.
    work_for(settling);
  }

 private:
  static constexpr Duration longest{1'000'000'000};
  static constexpr Duration settling{20'000};

  // "123 (a name) S ...": proc(5).
  static char state_in(const std::string& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    const auto end_of_name = line.rfind(") ");
    return end_of_name == std::string::npos ? 'S' : line[end_of_name + 2];
  }

  std::atomic<int> id_{0};
};

}  // namespace rkv::calibration
