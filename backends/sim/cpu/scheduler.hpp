// Which of the threads that are ready to run on a CPU gets it, and for how long: the operating system's
// scheduler, one policy a file (cfs.cpp, eevdf.cpp). Policies have no state of their own: it is in the run
// queue and in each thread's standing.
#pragma once

#include <memory>
#include <vector>

#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

struct RunQueue {
  std::vector<Thread*> waiting;    // in the order in which they came
  std::vector<Thread*> lingering;  // EEVDF: asleep, but not out of the queue yet. Empty where nobody runs
  Ps floor = 0;                    // CFS: min_vruntime; EEVDF: the average; as of the last update()
  std::size_t members = 0;         // EEVDF: of both and the one that runs; as of the last update()
  // EEVDF: whoever came last has changed the program's weight on the CPU beside a stranger (stranger.hpp).
  bool reweighed = false;

  [[nodiscard]] bool empty() const { return waiting.empty() && lingering.empty(); }
};

class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;
  // Raises the floor to where its threads are now. `current`, who may be null, is settled.
  virtual void update(RunQueue& queue, Thread* current) const = 0;
  // A thread that slept (or is new) becomes ready on this queue; `from` is where it ran last, or null. Both
  // queues are up to date.
  virtual void place_woken(RunQueue& queue, const RunQueue* from, Thread& woken) const = 0;
  // One who lingers in this queue becomes ready, and doesn't linger any more. `current` is settled; what it
  // has had since the last update(), or since the last tick if that was later, is not counted.
  virtual void requeue(RunQueue& /*queue*/, const Thread& /*current*/, Ps /*since_tick*/,
                       Thread& /*woken*/) const {}
  // A waiting or sleeping thread is moved between queues, which are up to date.
  virtual void move(const RunQueue& from, const RunQueue& to, Thread& thread) const = 0;
  // The running thread goes to sleep or ends.
  virtual void leave(RunQueue& queue, Thread& current) const = 0;
  // Takes the next to run out of waiting or, one who lingers and has come to the front, out of lingering.
  // Not both are empty.
  virtual Thread* pick(RunQueue& queue) const = 0;
  // How much longer the running thread may go on when others wait. More than 0; rounded up to a tick by the
  // core.
  [[nodiscard]] virtual Ps rest_of_slice(const RunQueue& queue, const Thread& current) const = 0;
  // Whether it has to go at this tick.
  [[nodiscard]] virtual bool expired(RunQueue& queue, Thread& current) const = 0;
  // The running thread, which is settled, lets others go first (sched_yield(2)). Whether it leaves the CPU
  // for that; some are waiting or linger.
  virtual bool yield(RunQueue& queue, Thread& current) const = 0;
  // Whether one that was just woken takes the CPU from it at once.
  [[nodiscard]] virtual bool preempts(const RunQueue& queue, const Thread& current,
                                      const Thread& woken) const = 0;
};

[[nodiscard]] std::unique_ptr<SchedulingPolicy> make_policy(const SchedulerProfile& profile);

}  // namespace rkv::sim
