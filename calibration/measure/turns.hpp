// Two spinning threads on two CPUs that take turns: what one does is over before the other goes on. Each
// hand-over costs a transfer of one cache line. One thread a side.
#pragma once

#include <atomic>
#include <functional>
#include <stdexcept>

#include "backends/verbs/port/thread_runtime.hpp"

namespace rkv::calibration {

class Turns {
 public:
  enum class Side : int { here, there };

  // Waits until it is this side's turn. Throws when the other side has failed.
  void await(Side side) const {
    for (;;) {
      if (turn_.load(std::memory_order_acquire) == side) return;
      if (failed_.load(std::memory_order_relaxed)) throw std::runtime_error("the other thread failed");
    }
  }
  // Gives it to the other side.
  void pass(Side from) {
    turn_.store(from == Side::here ? Side::there : Side::here, std::memory_order_release);
  }
  void fail() { failed_.store(true, std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<Side> turn_{Side::here};
  alignas(64) std::atomic<bool> failed_{false};
};

// Runs one function on the calling thread and the other on a thread of its own on CPU `cpu`, until both are
// over. Throws what either threw.
inline void run_two(int cpu, const std::function<void(Turns&)>& here,
                    const std::function<void(Turns&)>& there) {
  Turns turns;
  verbs::ThreadRuntime runtime;
  const auto guarded = [&turns](const std::function<void(Turns&)>& body) {
    try {
      body(turns);
    } catch (...) {
      turns.fail();
      throw;
    }
  };
  const auto thread = runtime.spawn({.name = "measured", .cores = {cpu}}, [&] { guarded(there); });
  guarded(here);
  thread->join();
}

}  // namespace rkv::calibration
