// Linux's Completely Fair Scheduler (kernel/sched/fair.c of 2.6.23 to 6.5; Documentation/scheduler/
// sched-design-CFS.rst), for threads of one weight:
//   slice     sched_slice(): latency / threads, at least the minimum granularity (check_preempt_tick)
//   waking    place_entity(): not before min_vruntime - latency / 2 (GENTLE_FAIR_SLEEPERS)
//   preempt   wakeup_preempt_entity(): when the running one is more than wakeup_granularity ahead
//   yield     the next one goes first if it is no more than wakeup_granularity ahead (set_skip_buddy(),
//             pick_next_entity()); here the yielding one is then put behind it
#pragma once

#include "backends/sim/cpu/scheduler.hpp"

namespace rkv::sim {

class Cfs final : public SchedulingPolicy {
 public:
  explicit Cfs(const SchedulerProfile& profile) : profile_(profile) {}
  void update(RunQueue& queue, Thread* current) const override;
  void place_woken(RunQueue& queue, const RunQueue* from, Thread& woken) const override;
  void move(const RunQueue& from, const RunQueue& to, Thread& thread) const override;
  void leave(RunQueue& queue, Thread& current) const override;
  Thread* pick(RunQueue& queue) const override;
  [[nodiscard]] Ps rest_of_slice(const RunQueue& queue, const Thread& current) const override;
  [[nodiscard]] bool expired(RunQueue& queue, Thread& current) const override;
  bool yield(RunQueue& queue, Thread& current) const override;
  [[nodiscard]] bool preempts(const RunQueue& queue, const Thread& current,
                              const Thread& woken) const override;

 private:
  [[nodiscard]] Ps slice(const RunQueue& queue) const;
  const SchedulerProfile profile_;
};

}  // namespace rkv::sim
