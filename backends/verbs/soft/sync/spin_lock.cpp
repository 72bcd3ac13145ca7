#include "backends/verbs/soft/sync/spin_lock.hpp"

#include <immintrin.h>
#include <sched.h>
#include <time.h>

namespace rkv::soft {
namespace {

constexpr std::uint32_t spin_steps = 64;  // about a microsecond: longer than any uncontended critical section
constexpr std::uint32_t yield_steps = 16;  // lets a holder that shares this core run
constexpr long sleep_ns = 20'000;          // from then on: the holder waits for a core elsewhere

}  // namespace

void Backoff::pause() noexcept {
  if (step_ < spin_steps) {
    ++step_;
    _mm_pause();
  } else if (step_ < spin_steps + yield_steps) {
    ++step_;
    sched_yield();
  } else {
    const timespec interval{.tv_sec = 0, .tv_nsec = sleep_ns};
    nanosleep(&interval, nullptr);
  }
}

void SpinLock::lock_contended() noexcept {
  Backoff backoff;
  do {
    while (held_.load(std::memory_order_relaxed) != 0) {
      backoff.pause();
    }
  } while (!try_lock());
}

}  // namespace rkv::soft
