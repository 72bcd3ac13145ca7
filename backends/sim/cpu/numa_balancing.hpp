// Threads that the operating system moves to the socket where it takes their memory to be.
//
// Linux (automatic NUMA balancing, kernel/sched/fair.c; on by default in Red Hat Enterprise Linux 7 and
// CentOS 7): task_numa_work() unmaps up to 256 MB of a process's memory every numa_balancing_scan_period_min
// (1 s) while less than seven tenths of the faults that follow are local (update_task_scan_period()); then
// task_numa_placement() has each thread prefer the socket in which most of its faults were, and
// task_numa_migrate() takes it to a CPU there that is idle, or exchanges it with the thread of one. It does
// not make sockets uneven. Of the threads that are ready in the thread's socket and in the one it prefers,
// which have as many CPUs,
//
//   any move:              1.12 x threads here > threads there             (numa_has_capacity())
//   to an idle CPU:        after it, more <= 1.12 x fewer, or it is no more uneven than before
//                                                                          (load_too_imbalanced())
//   exchange of threads:   no more is asked where each has a CPU           (task_numa_compare())
//
// That is Linux 4.4, with each ready thread counting as one (weighted_cpuload() of 3.10; since 3.11 for as
// much as it was ready lately). Red Hat's 3.10, as OpenVZ's copy of it has it (github.com/OpenVZ/vzkernel,
// kernel/sched/fair.c at 605a0a4fd946), does not know "no more uneven than before", and moves nobody to a
// socket with as many ready threads as its cores have capacity for. CentOS 7 has taken over later rules in
// later releases; which were in the thesis's is not known.
//
// Here: once a period each thread that has walked the store since the last one prefers a socket drawn in
// proportion to where the store's entries lie, since the pages that a thread happens to be the first to touch
// again are a sample of all. The threads of a host take their turns evenly over the period. Threads that read
// memory of their own only stay where they are. With whom a thread changes places is chance. Not modelled:
// pages that move, scans that become rarer, the faults' own cost, what the other thread of an exchange
// prefers.
//
// Measured: the period is the kernel's constant. What the moves do, that no client of a long run is slow for
// all of it, is seen in the thesis's runs with 10 clients and more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/sim/cpu/thread.hpp"

namespace rkv::sim {

class Memory;
class Processors;

// That are ready or run in two sockets: the one that a thread would leave, itself included, and the other.
struct SocketThreads {
  std::size_t here = 0;
  std::size_t there = 0;
};
// Whether the thread goes there at all, to an idle CPU or in exchange for another thread.
[[nodiscard]] bool is_free_enough(SocketThreads threads);
// Whether it goes to an idle CPU there.
[[nodiscard]] bool may_move(SocketThreads threads);

class NumaBalancing final : public EventHandler {
 public:
  // `period` 0: none of it.
  NumaBalancing(World& world, Processors& cpus, const Memory& memory, Ps period)
      : world_(world), cpus_(cpus), memory_(memory), period_(period) {}
  NumaBalancing(const NumaBalancing&) = delete;
  NumaBalancing& operator=(const NumaBalancing&) = delete;

  // The thread has walked through memory of all sockets. It must live as long as this.
  void walked(Thread& thread) {
    if (period_ == 0 || thread.walked_lately) return;
    thread.walked_lately = true;
    walkers_.push_back(&thread);
    if (!planned_) plan(period_);
  }

  // From now on; the next scan is now, unless threads of the last one are still due. 0 only where it was 0.
  void set_period(Ps period);

  void on_event(std::uint64_t tag) override;

 private:
  void plan(Ps after);
  void scan();
  // Between two turns.
  [[nodiscard]] Ps pause() const;

  World& world_;
  Processors& cpus_;
  const Memory& memory_;
  Ps period_;
  bool planned_ = false;
  std::uint64_t turn_ = 0;        // the number of the one that is planned
  std::vector<Thread*> walkers_;  // since the last scan
  std::vector<Thread*> due_;      // those before it, whose turns have begun
  std::size_t next_ = 0;          // of them
};

}  // namespace rkv::sim
