// A lock that threads spin for on their CPUs, as libmlx5 guards queue pairs and completion queues
// (pthread_spinlock_t).
//
//   free   a hand-over (hand_over.hpp), when another thread had it last
//   held   at its release the first in line that is on a CPU gets it, a hand-over later, for which the others
//          in line wait
//
// What a thread that had it last pays is part of the call that it guards. The line is in order;
// pthread_spinlock_t's is not: whoever has just released it may take it again before others see it free,
// which saves hand-overs that are paid for here. A thread that loses its CPU keeps the lock when it has it;
// in line it gets none before it has a CPU again.
#pragma once

#include <deque>

#include "backends/sim/cpu/hand_over.hpp"
#include "backends/sim/cpu/operation_pool.hpp"
#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

class SpinLock final : public EventHandler {
 public:
  explicit SpinLock(const HandOver& costs) : costs_(costs) {}

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
    void on_resumed(Thread& thread) override;

   private:
    enum class Stage : std::uint8_t { begin, taking };
    SpinLock& lock_;
    Stage stage_ = Stage::begin;
    Ps since_ = 0;
  };

  // This one of the line gets it.
  void give_to(std::deque<Thread*>::iterator next);
  // What it costs this thread to take it now, in front of so many; it is then the one who had it last.
  Ps take(Thread& thread, std::size_t waiting);

  const HandOver costs_;
  Thread* owner_ = nullptr;
  const Thread* last_ = nullptr;
  std::uint32_t last_socket_ = 0;
  std::deque<Thread*> line_;
  OperationPool<Acquisition, SpinLock> acquisitions_{*this};
};

}  // namespace rkv::sim
