// A thread of another program that has run on a CPU, sleeps, and lingers in the CPU's queue: what Linux's
// group scheduling makes of that with EEVDF, from 6.13 on (scheduler.grouped).
//
// The threads of a session or of a control group stand in a CPU's queue as one entity, with a queue of their
// own inside. Its weight there is the CPU's share of what the group has to do on all CPUs
// (calc_group_shares()): it changes with each thread that comes or goes, unless the group is on one CPU only.
// Each change places the entity anew by its lag (reweight_entity(); commit 6d71a9c61604, "Fix EEVDF entity
// placement bug causing scheduling lag"), and place_entity() scales the lag up for the average's sake, as if
// the entity came to the queue, where the running one is already. With the group's weight w, that of a
// thread being 1, and a stranger that is D ahead of it in virtual time
//
//   average     V  = v + D / (1 + w)
//   placed      v' = V - D / (1 + w)  (1 + 2 w) / (1 + w)
//   so that     D' = D (1 + w / (1 + w)^2)
//
// and the lag, D / (1 + w), is at most two slices or a tick, over w, before that. While the group runs for t,
// D shrinks by t / w. So a stranger that ran for a few of the times between two changes is ahead ever
// further: it never is eligible, and lingers (DELAY_DEQUEUE) until the program leaves the CPU. Strangers that
// come meanwhile are behind it and starve. The group's own slice has run out then, and since it is never
// replaced, nobody gives it another (set_protect_slice()): each change, finding it unprotected, asks for
// another choice among its threads (update_curr()), RUN_TO_PARITY or not.
//
// One that weighs more, W, runs on a CPU for t and is ahead of the program by t / W only, of an average that
// is mostly its own: it leaves the queue as it sleeps (26 of 29 turns of one with W = 9.3 counted what 1.1
// to 2.9 ms make of that; se.avg.load_avg of /proc/PID/sched). But until then it counts as W threads.
//
// Seen in traces of Linux 6.18 (sched_switch, sched_wakeup, sched_migrate_task; UC with events and 16 clients
// on two CPUs): from a moment at which kdamond had run for 1 ms, 43 % of wake-ups asked for another choice
// there, before it 1 %; with that thread the state went to the other CPU when the balancer moved it, and
// without autogroups (kernel.sched_autogroup_enabled=0) it never came.
#pragma once

#include "backends/sim/cpu/load_average.hpp"
#include "backends/sim/engine/time.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class Stranger {
 public:
  explicit Stranger(const SchedulerProfile& scheduler);
  // One has run for so long by then, and the program, which has this share of all that it has to do on the
  // CPU, has it again. Nothing where there are no groups.
  void sleeps(Ps then, Ps ran, double share);
  // One that weighs so many times as much has run for so long by then, and leaves the queue.
  void goes(Ps then, Ps ran, double weight);
  // Threads of the program came to the CPU or left it, which has this share of all that it has to do now.
  // Whether that placed it anew, as the one that runs there, beside one who lingers.
  bool weigh(Ps now, double share);
  // The balancer takes one that lingers beside another CPU to this one, of which the program has this share,
  // with all that it counts there.
  void take(Stranger& from, Ps now, double share);
  // The CPU has nothing else to do, and whoever lingered goes.
  void leaves(Ps now);
  // Until the program has had as much of the CPU, though nobody came or left.
  [[nodiscard]] bool lingers(Ps now) const { return ahead_at(now) > 0; }
  // What strangers add to the CPU's load (load_average.hpp), over that of the whole program on all CPUs,
  // which weighs as much as one thread. It outlasts them: what slept on a CPU counts there, ever less.
  [[nodiscard]] double load(Ps now) const;

 private:
  [[nodiscard]] double ahead_at(Ps now) const;
  // When it leaves the queue if nobody comes or leaves before: with a tick, at which the CPU looks whose turn
  // it is.
  [[nodiscard]] Ps out_at() const;
  void account(LoadAverage& load, Ps now) const;

  bool grouped_;
  Ps tick_;
  double most_lag_;   // times the share
  double ahead_ = 0;  // virtual picoseconds
  double share_ = 1;
  Ps since_ = 0;  // up to when it is accounted for
  LoadAverage load_;
  Ps queued_until_ = 0;
};

}  // namespace rkv::sim
