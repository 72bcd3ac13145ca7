// A lock that threads spin for only a while, as soft0's are (backends/verbs/soft/sync/spin_lock.hpp): with
// more threads than CPUs the holder may have lost its own.
//
//   free   taken; what that costs is part of the call that the lock guards
//   held   the thread spins for `spin`. If the lock is released meanwhile, the one that has spun longest of
//          those that have a CPU takes it. Otherwise the thread lets others have its CPU, tries, and so on,
//          `yields` times (a full slice of each of those that wait there, if they use it; `yield` of its own
//          time). From then on it sleeps for `nap`, tries, and so on
//
// A holder that is preempted keeps the lock. Source of the times: soft0's Backoff (64 pauses, 16 of
// sched_yield(2), then nanosleep(2) of 20 us), what a sched_yield(2) takes where nobody waits for the CPU
// (0.5 us; build/bench/rkv_bench_yield), and 50 us by which Linux may let a sleep be late (prctl(2),
// PR_SET_TIMERSLACK).
#pragma once

#include <vector>

#include "backends/sim/cpu/operation_pool.hpp"
#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

class BackoffLock final : public EventHandler {
 public:
  static constexpr Ps spin = 1'000'000;
  static constexpr unsigned yields = 16;
  static constexpr Ps yield = 500'000;
  static constexpr Ps nap = 70'000'000;

  // Both take effect when the thread's burst is played up to here.
  void lock(Thread& thread) { thread.record(acquisitions_.take()); }
  void unlock(Thread& thread) { thread.record(*this, 0); }

  // Played: it is released.
  void on_event(std::uint64_t tag) override;

 private:
  class Acquisition final : public Operation {
   public:
    explicit Acquisition(BackoffLock& lock) : lock_(lock) {}
    Next step(Thread& thread) override;
    void on_signal(Thread& thread) override;

   private:
    enum class Stage : std::uint8_t { begin, spinning, yielding, asleep };
    BackoffLock& lock_;
    Stage stage_ = Stage::begin;
    unsigned yields_ = 0;
    Ps since_ = 0;
  };

  const Thread* owner_ = nullptr;
  std::vector<Thread*> spinning_;  // in the order in which they came
  OperationPool<Acquisition, BackoffLock> acquisitions_{*this};
};

}  // namespace rkv::sim
