// How much a thread, or all threads of a CPU, wanted to run lately: a mean of the number of those that are
// ready or running, in which what was 32 ms ago counts half (Linux: Per-Entity Load Tracking,
// kernel/sched/pelt.c, load_avg for threads of one weight, in units of such a thread). As there, a thread
// that sleeps still counts where it ran last, ever less.
#pragma once

#include <cmath>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class LoadAverage {
 public:
  // So many have been ready since the last call.
  void pass(Ps now, double ready) {
    if (now <= since_) return;
    const double kept = std::exp2(-static_cast<double>(now - since_) / half_life);
    value_ = value_ * kept + ready * (1 - kept);
    since_ = now;
  }
  [[nodiscard]] double value() const { return value_; }
  // A thread comes with this load, or leaves with it.
  void add(double load) { value_ += load; }

 private:
  static constexpr double half_life = 32e9;  // ps

  Ps since_ = 0;
  double value_ = 0;
};

}  // namespace rkv::sim
