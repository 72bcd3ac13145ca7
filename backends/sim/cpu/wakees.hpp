// How often a waker has changed whom it wakes, by which Linux tells whether to draw who is woken to the
// waker's CPU (record_wakee() and wake_wide(), kernel/sched/fair.c, 3.12 to 3.16):
//
//   a flip is a wake-up of another thread than the last one; the count begins anew with the first wake-up
//   more than a second after it began, both as the last tick saw them (HZ jiffies; later kernels halve it)
//   wide:  woken.flips > F  and  waker.flips > F x woken.flips,  F: CPUs of a socket
//
// A wide waker is one of many threads, which would only be in each other's way if all of them came to it.
//
// Not measured: it is the kernel's rule, without a parameter. What it does is seen in the thesis's runs with
// 4 to 9 clients, which one client's or two's slowness prolongs, by chance more or less.
#pragma once

#include <cstdint>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class Thread;

// Of a thread as a waker: those that interrupts woke while it ran. Of a CPU: while nobody ran there (Linux:
// its idle task's).
struct Wakees {
  static constexpr Ps memory = 1'000'000'000'000;  // how long a count lasts

  std::uint32_t flips = 0;
  Ps since = -forever / 2;  // the count began, by ticks
  const Thread* last = nullptr;

  // `times` as if time went so much faster, and there were so many wake-ups like it (run/hurried_moves.hpp).
  void count(const Thread& woken, Ps last_tick, std::uint32_t times) {
    if (last_tick > since + memory / times) {
      flips = 0;
      since = last_tick;
    }
    if (last != &woken) flips += times;
    last = &woken;
  }
};

[[nodiscard]] inline bool is_wide(const Wakees& waker, const Wakees& woken, std::uint64_t cpus_a_socket) {
  return woken.flips > cpus_a_socket && waker.flips > cpus_a_socket * woken.flips;
}

}  // namespace rkv::sim
