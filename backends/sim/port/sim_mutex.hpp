// A lock that is part of a study: a futex, as pthread_mutex_t and the locks within glibc are.
//
//   taking, free      memory.lock, and lock_hand_over more when another CPU had it last
//   taking, held      the thread marks it as wanted, which costs as much, and goes into the kernel
//                     (scheduler.syscall), which lets it sleep if the lock is still held as wanted. If it is
//                     not (it is free, or somebody took it who did not have to wait), the thread comes back
//                     and tries again; who takes it on this way holds it as wanted
//   woken             tries again, as above
//   releasing         memory.lock; where it was wanted, a system call, and wake_cost to wake who slept
//                     longest
//
// (A lock is held from the moment at which it is found free.) A holder that is preempted keeps the lock.
// Sources: Drepper, "Futexes Are Tricky", 2011, mutex 2; glibc 2.17, nptl/lowlevellock.c.
#pragma once

#include <cstdint>
#include <deque>

#include "backends/sim/cpu/operation_pool.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "core/port/runtime.hpp"

namespace rkv::sim {

class SimMutex final : public Mutex, public EventHandler {
 public:
  explicit SimMutex(World& world) : world_(world) {}
  ~SimMutex() override;  // what the calling thread has recorded of it is played before

  void lock() override;
  void unlock() override;  // takes effect when the burst is played up to here
  void pass() override;    // held for the profile's client_serial

  // Played: the thread releases it.
  void on_event(std::uint64_t tag) override;

 private:
  // One thread's way to the lock.
  class Acquisition : public Operation {
   public:
    explicit Acquisition(SimMutex& mutex) : mutex_(&mutex) {}
    Next step(Thread& thread) override;
    void on_signal(Thread&) override {}

   protected:
    enum class Stage : std::uint8_t { begin, in_kernel, asleep, taken, releasing };
    // CPU time for which the lock is held before anything else happens.
    virtual Ps held(Thread&) const { return 0; }

    SimMutex* mutex_;
    Stage stage_ = Stage::begin;
    Ps waits_since_ = 0;
  };
  // Takes it, holds it for a while, releases it.
  class Passage final : public Acquisition {
   public:
    explicit Passage(SimMutex& mutex) : Acquisition(mutex) {}
    Next step(Thread& thread) override;

   private:
    Ps held(Thread& thread) const override;
  };

  // CPU time of getting at the lock's cache line.
  Ps touch(Thread& thread);
  // CPU time of releasing it.
  Ps release(Thread& thread);

  World& world_;
  std::uint32_t recorded_ = 0;  // releases that are not played yet
  enum class State : std::uint8_t { free, held, held_as_wanted };
  State state_ = State::free;
  int last_cpu_ = -1;
  std::deque<Thread*> sleepers_;
  OperationPool<Passage, SimMutex> passages_{*this};
};

}  // namespace rkv::sim
