// How often a waker has changed whom it wakes, by which Linux tells whether to draw who is woken to the
// waker's CPU (record_wakee() and wake_wide(), kernel/sched/fair.c). A flip is a wake-up of another thread
// than the last one. Linux 3.12 to 3.16, and Red Hat's 3.10 as OpenVZ's copy of it has it
// (numa_balancing.hpp), for the wake-ups of interrupts (scheduler.wake_to_interrupt):
//
//   the count begins anew with the first wake-up more than a second after it began, both as the last tick saw
//   them (HZ jiffies)
//   wide:  woken.flips > F  and  waker.flips > F x woken.flips,  F: CPUs of a socket
//
// Since 4.3, for those of threads (scheduler.wake_affine):
//
//   the count is halved by the first wake-up more than a second after it was last (commit 096aa33863a5)
//   wide:  less >= F  and  more >= F x less,  less and more: the flips of both  (commit 63b0e9edceec)
//
// A wide waker is one of many threads, which would only be in each other's way if all of them came to it.
//
// Not measured: it is the kernel's rule, without a parameter. What it does is seen in the thesis's runs with
// 4 to 9 clients, which one client's or two's slowness prolongs, by chance more or less; and in traces of UD
// with events and 4 clients on two CPUs (Linux 6.18, `sched_migrate_task`), whose threads all wake each
// other: 11 and 33 moves of eight threads in 1.5 s.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/sim/engine/time.hpp"
#include "core/workload/rng.hpp"

namespace rkv::sim {

class Thread;

// Of a thread as a waker: those that interrupts woke while it ran, or those that it woke itself. Of a CPU:
// while nobody ran there (Linux: its idle task's).
struct Wakees {
  static constexpr Ps memory = 1'000'000'000'000;  // how long a count lasts, or until it is halved

  std::uint32_t flips = 0;
  Ps since = -forever / 2;  // the count began, by ticks, or was halved
  const Thread* last = nullptr;
  bool settled = false;  // with more than F flips it has been drawn since the count began

  // A wake-up that counts for so many.
  void count(const Thread& woken, Ps last_tick, std::uint32_t wake_ups) {
    if (last_tick > since + memory) {
      flips = 0;
      since = last_tick;
      settled = false;
    }
    note(woken, wake_ups);
  }

  // By the later rule.
  void count_halving(const Thread& woken, Ps now) {
    if (now > since + memory) {
      flips /= 2;
      since = now;
    }
    note(woken, 1);
  }

 private:
  void note(const Thread& woken, std::uint32_t wake_ups) {
    if (last != &woken) flips += wake_ups;
    last = &woken;
  }
};

// Of a CPU that has been idle, and had wake-ups, long before time 0.
[[nodiscard]] inline Ps began_some_time_before(Rng& rng) {
  return -static_cast<Ps>(rng.below(static_cast<std::uint64_t>(Wakees::memory)));
}

// The time by which counts begin anew: the world's, or one that goes faster, for a piece of a run that has so
// many fewer wake-ups (run/wakees_of_window.hpp). Each counts for so many then, but not in a thread's count
// that is not settled: its first few decide, within a moment of the run too, whether the CPU is wide to the
// thread, which then stays away with these few, or draws it on.
class WakeesClock {
 public:
  [[nodiscard]] Ps at(Ps world_now) const { return shown_ + (world_now - set_at_) * times_; }
  // How many times as fast as the world's it goes.
  [[nodiscard]] std::uint32_t times() const { return times_; }
  void set(Ps world_now, Ps shows, std::uint32_t times) {
    set_at_ = world_now;
    shown_ = shows;
    times_ = times;
  }

 private:
  Ps set_at_ = 0;
  Ps shown_ = 0;
  std::uint32_t times_ = 1;
};

[[nodiscard]] inline bool is_wide(const Wakees& waker, const Wakees& woken, std::uint64_t cpus_a_socket) {
  return woken.flips > cpus_a_socket && waker.flips > cpus_a_socket * woken.flips;
}

// By the later rule: whether one of them wakes so many more than the other, whichever it is that wakes.
[[nodiscard]] inline bool is_either_wide(const Wakees& one, const Wakees& other,
                                         std::uint64_t cpus_a_socket) {
  const auto [less, more] = std::minmax(one.flips, other.flips);
  return less >= cpus_a_socket && more >= cpus_a_socket * less;
}

}  // namespace rkv::sim
