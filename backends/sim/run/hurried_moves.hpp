// A run's time of which a simulation leaves nearly all out, but for how threads move: while this lives, what
// takes threads to other CPUs by the clock does so `times` as often. That is automatic NUMA balancing
// (cpu/numa_balancing.hpp) and the pushing of threads off CPUs that interrupts take up
// (scheduler.active_balance). What is walked meanwhile counts `times`, for where the store's entries lie,
// which draws the threads.
//
// What wake-ups and idle CPUs do to threads is left at its own pace: operations are.
#pragma once

#include "backends/sim/engine/simulation.hpp"

namespace rkv::sim {

class HurriedMoves {
 public:
  // The simulation outlives it.
  HurriedMoves(Simulation& simulation, double times);
  HurriedMoves(const HurriedMoves&) = delete;
  HurriedMoves& operator=(const HurriedMoves&) = delete;
  ~HurriedMoves();

 private:
  Simulation& simulation_;
  const double times_;
  const Ps since_;
};

}  // namespace rkv::sim
