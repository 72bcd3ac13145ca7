// A mutual-exclusion lock for critical sections of tens of nanoseconds, the only lock on the data path.
//
// Uncontended it costs one atomic exchange to take and one plain store to release. With more threads than
// cores the holder may have lost its core, so a waiter spins only briefly, then gives its core up, then
// sleeps.
#pragma once

#include <atomic>
#include <cstdint>

namespace rkv::soft {

class SpinLock {
 public:
  void lock() noexcept {
    if (held_.exchange(1, std::memory_order_acquire) != 0) {
      lock_contended();
    }
  }
  bool try_lock() noexcept { return held_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() noexcept { held_.store(0, std::memory_order_release); }

 private:
  void lock_contended() noexcept;

  std::atomic<std::uint32_t> held_{0};
};

// One step of a wait for another thread: spins first, yields next, sleeps from then on.
class Backoff {
 public:
  void pause() noexcept;

 private:
  std::uint32_t step_ = 0;
};

}  // namespace rkv::soft
