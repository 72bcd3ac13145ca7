// The lock of a completion queue that several threads poll without a pause (libmlx5, libmlx4: ibv_poll_cq
// takes a pthread_spinlock_t, also for a look that finds nothing). Those who poll do little but take it, so
// it passes from one to the next all the time, and that costs in two ways:
//
//   looks  each thread looks once while all others do: pollers x (look + hand-over), hand_over.hpp
//   held   a thread that loses its CPU holds it with a chance of 1 / pollers (for sure, while it takes a
//          completion). Until it has a CPU again nobody takes anything.
//
// Nobody took what was there for 0.5 ms and more, measured on virtual machines with kernel 6.18, twice:
//
//   2 CPUs   in 21 and 22 % of the time with 4 workers, 33 with 8, at most 1 with 2
//            (build/bench/rkv_bench_poll_lock --workers 2,4,8 --seconds 2)
//   16 CPUs  8 and 20 % with 20 workers, 25 and 33 with 24, 40 with 32, 39 and 55 with 48, 47 and 64 with 64,
//            never with 16 (by that program's loop, written in C)
//
// soft0's (backends/verbs/soft/verbs/completion_queue.hpp) is taken by looks that find something only, so
// that no look waits for others, and nobody holds it who finds nothing. What its hand-over costs is part of
// taking a completion. With 32 and 64 clients that poll over UD on two CPUs, predictions were x 1.57 and 1.79
// of real runs before it was in the model, and are x 0.84 and 1.09 with it
// (calibration/studies/this_machine/run, at 4a5160e and 6e732f7; not the only change between them). Left out:
// that who finds it held yields after a microsecond (backoff_lock.hpp).
//
// The looks are not simulated one by one: how far they are apart is computed when something arrives. Looks
// that find something don't wait for each other.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/sim/cpu/hand_over.hpp"
#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

class PollLock {
 public:
  explicit PollLock(const HandOver& costs) : costs_(costs) {}
  // soft0's, for looks that find something.
  PollLock() = default;

  // This thread, on a CPU, polls from now on; no more.
  void join() { ++pollers_; }
  void leave() { --pollers_; }
  // One that polls loses its CPU, in a look that takes a completion or in another. True: it holds the lock.
  bool lose_cpu(Thread& thread, bool taking);
  // It has one again. True: it held the lock, which is free now.
  bool regain_cpu(const Thread& thread);

  // By a thread that has no CPU.
  [[nodiscard]] bool held() const { return holder_ != nullptr; }
  // CPU time from one look of a thread to its next, when a look takes so much by itself.
  [[nodiscard]] Ps between_looks(Ps look) const {
    return !costs_ || pollers_ <= 1 ? look : pollers_ * (look + costs_->cost(waiting(), false));
  }
  // What a look that takes completions costs this thread more.
  [[nodiscard]] Ps cost(const Thread& thread) const;
  // It has taken some.
  void taken(const Thread& thread);

 private:
  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(pollers_ > 0 ? pollers_ - 1 : 0);
  }

  const std::optional<HandOver> costs_;
  int pollers_ = 0;  // on CPUs
  const Thread* holder_ = nullptr;
  const Thread* last_ = nullptr;
  std::uint32_t last_socket_ = 0;
};

}  // namespace rkv::sim
