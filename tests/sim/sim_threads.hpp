// Simulated threads for tests: a profile with round numbers, and a simulation of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/engine/simulation.hpp"
#include "backends/sim/port/sim_runtime.hpp"

namespace rkv::sim::test {

inline constexpr Ps ns = 1'000;
inline constexpr Ps us = 1'000 * ns;
inline constexpr Ps ms = 1'000 * us;

// `cpus` CPUs of one socket, without SMT, on which nothing costs anything but what a test sets.
inline HostProfile free_host(std::uint32_t cpus) {
  HostProfile host;
  host.cpu.cores_per_socket = cpus;
  host.scheduler = {.kind = SchedulerProfile::Kind::cfs,
                    .tick = 1 * ms,
                    .slice = 3 * ms,
                    .latency = 6 * ms,
                    .wakeup_granularity = 1 * ms,
                    .switch_cost = 0,
                    .wakeup_latency = 0,
                    .wake_cost = 0,
                    .syscall = 0,
                    .interrupt = 0,
                    .interrupt_cpu = -1,
                    .migration_cost = 0,
                    .balance_interval = 0};
  host.memory.format_key = 0;
  host.memory.store_operation = 0;
  host.memory.lock = 0;
  host.memory.lock_hand_over = 0;
  host.program = {.client_operation = 0,
                  .client_response = 0,
                  .client_serial = 0,
                  .server_operation = 0,
                  .clock_read = 0};
  for (VerbsProfile* verbs : {&host.rc, &host.uc, &host.ud}) {
    *verbs = {.post_send = 0,
              .post_chained = 0,
              .post_receive = 0,
              .receive_chained = 0,
              .poll = 0,
              .empty_poll = 1 * ns,
              .arm = 0,
              .event = 0};
  }
  return host;
}

inline Profile free_profile(std::uint32_t cpus) {
  Profile profile;
  profile.server = free_host(cpus);
  profile.client = free_host(cpus);
  return profile;
}

// Runs each body in a thread of its own and waits for all. Called within Simulation::run().
inline void run_threads(SimRuntime& runtime, const std::vector<std::function<void()>>& bodies,
                        const std::vector<std::vector<int>>& cpus = {}) {
  std::vector<std::unique_ptr<rkv::Thread>> threads;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    threads.push_back(runtime.spawn(
        {.name = "thread " + std::to_string(i), .cores = i < cpus.size() ? cpus[i] : std::vector<int>{}},
        bodies[i]));
  }
  for (auto& thread : threads) thread->join();
}

// Holds the CPU for so long: a burst of pure work.
inline void work(Simulation& simulation, Ps time) {
  simulation.world().current()->spend(time, Spent::program);
  simulation.world().current()->flush();
}

// Runs bodies as threads of the server and waits for all.
struct Run {
  explicit Run(const Profile& profile) : simulation(profile) {}

  void operator()(const std::vector<std::function<void()>>& bodies,
                  const std::vector<std::vector<int>>& cpus = {}) {
    simulation.run([&] {
      SimRuntime runtime(simulation, simulation.host(0));
      run_threads(runtime, bodies, cpus);
    });
  }
  [[nodiscard]] Ps now() { return simulation.world().now(); }

  Simulation simulation;
};

// The calling thread sleeps until this time.
inline void sleep_until(Run& run, Ps time) {
  SimRuntime runtime(run.simulation, run.simulation.host(0));
  const auto stop = runtime.make_stop_flag();
  runtime.sleep_until(to_instant(time), *stop);
}

// Sleeps until somebody else wakes the thread.
class Doze final : public Operation {
 public:
  Next step(Thread&) override {
    if (dozed_) return Next::done();
    dozed_ = true;
    return Next::sleep();
  }
  void on_signal(Thread&) override {}

 private:
  bool dozed_ = false;
};

struct Alarm final : EventHandler {
  Thread* sleeper = nullptr;
  void on_event(std::uint64_t) override { sleeper->wake_up(); }
};

// The calling thread sleeps until it goes off.
inline void sleep_until(Alarm& alarm, World& world) {
  alarm.sleeper = world.current();
  Doze doze;
  alarm.sleeper->perform(doze);
}

// The thread lets others go first where it is recorded.
struct Yield final : EventHandler {
  explicit Yield(Thread& one) : thread(one) {}
  void on_event(std::uint64_t) override { thread.core->yield(); }
  Thread& thread;
};

}  // namespace rkv::sim::test
