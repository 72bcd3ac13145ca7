// Points simulated some at a time, each in a process of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "backends/sim/run/point_process.hpp"

namespace rkv::sim {

// Not thread-safe. The process must have one thread, and SimGrid must not have been started in it.
class PointPool {
 public:
  // How far it is.
  struct State {
    std::size_t done = 0;  // points that are over, in any order
    std::size_t of = 0;
    std::size_t first = 0;  // of those under way
    PointProgress of_first;
  };
  // Called several times a second while points are under way; false: end these early and start no others.
  using Waiting = std::function<bool(const State& state)>;

  // At most `at_a_time` of them run at once; 0: one a CPU.
  PointPool(std::vector<PointJob> jobs, std::size_t at_a_time, Waiting waiting);

  // Whether next() has another one: all of them or, once told to stop, those that had been started.
  [[nodiscard]] bool more() const;
  // The next point in the order of the jobs, when it is over; the others go on meanwhile. Partial when it
  // failed or was ended early.
  PointResult next();

 private:
  void start();
  void wait();

  const std::vector<PointJob> jobs_;
  const std::size_t at_a_time_;
  const Waiting waiting_;
  std::map<std::size_t, PointProcess> running_;  // by job
  std::map<std::size_t, PointResult> over_;      // not yet given by next()
  std::size_t started_ = 0;
  std::size_t given_ = 0;
  bool stopping_ = false;
};

}  // namespace rkv::sim
