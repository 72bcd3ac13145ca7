// Threads that pass through one lock, on simulated CPUs.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {

template <typename Lock>
struct Passages {
  template <typename... Costs>
  explicit Passages(const Profile& profile, Costs&&... costs)
      : simulation(profile), runtime(simulation, simulation.host(0)), lock(std::forward<Costs>(costs)...) {}

  // A thread that comes after `before` and holds the lock for `held`. When it had it.
  std::function<void()> passage(Ps before, Ps held, Ps& taken) {
    return [this, before, held, &taken] {
      work(simulation, before);
      Thread& thread = *simulation.world().current();
      lock.lock(thread);
      thread.flush();
      taken = simulation.world().now();
      work(simulation, held);
      lock.unlock(thread);
      thread.flush();
    };
  }
  void run(const std::vector<std::function<void()>>& bodies, const std::vector<std::vector<int>>& cpus = {}) {
    simulation.run([&] { run_threads(runtime, bodies, cpus); });
  }

  Simulation simulation;
  SimRuntime runtime;
  Lock lock;
};

}  // namespace rkv::sim::test
