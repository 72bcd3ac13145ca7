// How much a thread, or all threads of a CPU, had to do lately: means in which what was 32 ms ago counts half
// (Linux: Per-Entity Load Tracking, kernel/sched/pelt.c, load_avg, runnable_avg and util_avg for threads of
// one weight, in units of such a thread and of a CPU). As there, a thread that sleeps still counts where it
// ran last, ever less, and takes what it counts along to another CPU.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/sim/engine/time.hpp"

namespace rkv::sim {

class LoadAverage {
 public:
  // Of a new thread on this CPU. Linux has it count as a whole thread, and expects it to use as much of the
  // CPU as those that are there do, but half of what is free at most (init_entity_runnable_average(),
  // post_init_entity_util_avg()).
  static LoadAverage of_new_thread(const LoadAverage& cpu) {
    LoadAverage own;
    own.since_ = cpu.since_;
    own.load_ = 1;
    const double most = std::max(1 - cpu.utilization_, 0.0) / 2;
    own.utilization_ = cpu.utilization_ > 0 ? std::min(cpu.utilization_ / cpu.load_, most) : most;
    own.runnable_ = own.utilization_;
    return own;
  }

  // So many have been in the queue since the last call, so many of them ready to run, and so many, 0 or 1,
  // have run.
  void pass(Ps now, double queued, double ready, double running) {
    if (now <= since_) return;
    const double kept = std::exp2(-static_cast<double>(now - since_) / half_life);
    load_ = load_ * kept + queued * (1 - kept);
    runnable_ = runnable_ * kept + ready * (1 - kept);
    utilization_ = utilization_ * kept + running * (1 - kept);
    since_ = now;
  }
  // Of the threads that are in the queue, or were a while ago.
  [[nodiscard]] double load() const { return load_; }
  // Of those that are ready. New threads count less.
  [[nodiscard]] double runnable() const { return runnable_; }
  // Part of a CPU.
  [[nodiscard]] double utilization() const { return utilization_; }

  // A CPU whose only thread, of a program that is not simulated, stopped so long ago.
  void begin_used(Ps ago) {
    load_ = runnable_ = utilization_ = std::exp2(-static_cast<double>(ago) / half_life);
  }
  // Something else is in the queue that counts as so many threads.
  void add_load(double threads) { load_ += threads; }
  // A thread comes with this, or leaves with it. Both are as of now.
  void add(const LoadAverage& thread) { add(thread, 1); }
  void remove(const LoadAverage& thread) { add(thread, -1); }

 private:
  static constexpr double half_life = 32e9;  // ps

  void add(const LoadAverage& thread, double times) {
    load_ += times * thread.load_;
    runnable_ += times * thread.runnable_;
    utilization_ += times * thread.utilization_;
  }

  Ps since_ = 0;
  double load_ = 0;
  double runnable_ = 0;
  double utilization_ = 0;
};

}  // namespace rkv::sim
