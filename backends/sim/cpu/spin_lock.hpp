// A lock that threads spin for on their CPUs, as libmlx5 guards queue pairs and completion queues
// (pthread_spinlock_t).
//
//   free   hand_over, when another thread had it last: its cache line comes from there, and those of what it
//          guards; from another socket remote_factor times that
//   held   at its release the first in line gets it, hand_over + others still in line x a_waiter later. No
//          more of them count than the host has cores, since SMT siblings share the cache they read from
//
// What a thread that had it last pays is part of the call that it guards. Each further thread that spins
// makes a hand-over longer, since all of them read the line that is written: Boyd-Wickizer, Kaashoek, Morris,
// Zeldovich, "Non-scalable locks are dangerous" (Linux Symposium 2012). The line is in order, as that of a
// ticket lock; pthread_spinlock_t's is not: whoever has just released it may take it again before others see
// it free, which saves hand-overs that are paid for here. A thread without its CPU keeps its place in line,
// and the lock when it has it.
#pragma once

#include <deque>

#include "backends/sim/cpu/operation_pool.hpp"
#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

class SpinLock final : public EventHandler {
 public:
  struct Costs {
    Ps hand_over = 0;
    Ps a_waiter = 0;
    double remote_factor = 1;
    std::uint32_t cores = UINT32_MAX;
  };
  explicit SpinLock(const Costs& costs) : costs_(costs) {}

  // Both take effect when the thread's burst is played up to here.
  void lock(Thread& thread) { thread.record(acquisitions_.take()); }
  void unlock(Thread& thread) { thread.record(*this, 0); }

  // Played: it is released.
  void on_event(std::uint64_t tag) override;

 private:
  class Acquisition final : public Operation {
   public:
    explicit Acquisition(SpinLock& lock) : lock_(lock) {}
    Next step(Thread& thread) override;
    void on_signal(Thread&) override {}

   private:
    enum class Stage : std::uint8_t { begin, taking };
    SpinLock& lock_;
    Stage stage_ = Stage::begin;
    Ps since_ = 0;
  };

  // What it costs this thread to take it now, in front of so many; it is then the one who had it last.
  Ps take(Thread& thread, std::size_t waiting);

  const Costs costs_;
  Thread* owner_ = nullptr;
  const Thread* last_ = nullptr;
  std::uint32_t last_socket_ = 0;
  std::deque<Thread*> line_;
  OperationPool<Acquisition, SpinLock> acquisitions_{*this};
};

}  // namespace rkv::sim
