// Linux's EEVDF scheduler (kernel/sched/fair.c from 6.6; Stoica and Abdel-Wahab, "Earliest Eligible Virtual
// Deadline First", Old Dominion University TR-95-22, 1995), for threads of one weight:
//   eligible  whose virtual time is not past the average of all in the queue (entity_eligible)
//   pick      the eligible one with the earliest virtual deadline, which is a base slice after it was given
//   waking    place_entity(): with what it was owed when it left, at most two slices or a tick
//             (update_entity_lag()); a new thread with half a slice, since the others are halfway through
//             theirs (PLACE_DEADLINE_INITIAL)
//   asleep    one that was ahead when it went to sleep lingers in the queue until it would be picked
//             (DELAY_DEQUEUE, from 6.12; here always), and counts in the average and in its CPU's load
//             meanwhile. Woken before that, it is where it was, on the CPU where it was, but for what it was
//             owed by then (requeue_delayed_entity(), DELAY_ZERO). That takes the running thread for where it
//             was when it was last accounted for (update_curr()), so that one is behind the woken thread when
//             it is asked to go. Not modelled: that balancing may take a lingering thread along
//   preempt   RUN_TO_PARITY: a running thread that is still eligible keeps the CPU for its slice. One that is
//             not gives it to the one that was woken, if that is whom pick would take
//             (check_preempt_wakeup_fair()). Beside a stranger that lingers it goes to whom pick would take,
//             be that the woken one or not, if the woken one had left the queue (stranger.hpp)
//   yield     whoever is eligible goes to its deadline in virtual time, as if it had had its slice
//             (yield_task_fair(); commit 79104becf42b, "Forfeit vruntime on yield"; here always). Linux 6.18:
//             next to one thread that spins on a CPU one that does nothing but yield does so 1400 times in
//             2 s, a slice each (build/bench/rkv_bench_yield)
#pragma once

#include "backends/sim/cpu/scheduler.hpp"

namespace rkv::sim {

class Eevdf final : public SchedulingPolicy {
 public:
  explicit Eevdf(const SchedulerProfile& profile) : profile_(profile) {}
  void update(RunQueue& queue, Thread* current) const override;
  void place_woken(RunQueue& queue, const RunQueue* from, Thread& woken) const override;
  void requeue(RunQueue& queue, const Thread& current, Ps since_tick, Thread& woken) const override;
  void move(const RunQueue& from, const RunQueue& to, Thread& thread) const override;
  void leave(RunQueue& queue, Thread& current) const override;
  Thread* pick(RunQueue& queue) const override;
  [[nodiscard]] Ps rest_of_slice(const RunQueue& queue, const Thread& current) const override;
  [[nodiscard]] bool expired(RunQueue& queue, Thread& current) const override;
  bool yield(RunQueue& queue, Thread& current) const override;
  [[nodiscard]] bool preempts(const RunQueue& queue, const Thread& current,
                              const Thread& woken) const override;

 private:
  const SchedulerProfile profile_;
};

}  // namespace rkv::sim
