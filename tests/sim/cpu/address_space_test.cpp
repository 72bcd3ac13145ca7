// Growing the process's memory: what it costs, who waits, and that it is handed on in line.
#include <catch2/catch.hpp>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

Profile profile_of(std::uint32_t cpus, std::uint32_t allocated_bytes) {
  Profile profile = free_profile(cpus);
  profile.server.program.client_allocated_bytes = allocated_bytes;
  profile.server.memory.map_page = 2 * us;
  profile.server.memory.map_hand_over = 30 * us;
  profile.server.scheduler.wakeup_latency = 1 * us;
  return profile;
}

struct Run {
  explicit Run(const Profile& profile) : simulation(profile), runtime(simulation, simulation.host(0)) {}

  // Each body in a thread of its own.
  void operator()(const std::vector<std::function<void()>>& bodies) {
    simulation.run([&] { run_threads(runtime, bodies); });
  }
  [[nodiscard]] Ps now() const { return simulation.world().now(); }
  void operation() {  // of a client
    runtime.charge({.keys_formatted = 1});
    simulation.world().current()->flush();
  }

  mutable Simulation simulation;
  SimRuntime runtime;
};

TEST_CASE("a thread that fills a page maps another: the heap, and the fault") {
  Run run(profile_of(1, 1024));
  std::vector<Ps> times;
  run({[&] {
    for (int i = 0; i < 9; ++i) {
      const Ps before = run.now();
      run.operation();
      times.push_back(run.now() - before);
    }
  }});
  CHECK(times == std::vector<Ps>{0, 0, 0, 4 * us, 0, 0, 0, 4 * us, 0});
}

TEST_CASE("what allocates nothing costs nothing") {
  Run run(profile_of(1, 0));
  Ps ended = -1;
  run({[&] {
    const Ps before = run.now();
    for (int i = 0; i < 100; ++i) run.operation();
    ended = run.now() - before;
  }});
  CHECK(ended == 0);
}

TEST_CASE("who finds the memory map held sleeps, and has it when it is woken, before others") {
  Run run(profile_of(3, 4096));
  std::vector<Ps> ends(3);
  std::vector<ThreadUsage> usage(3);
  std::vector<std::function<void()>> bodies;
  for (std::size_t who = 0; who < 3; ++who) {
    bodies.emplace_back([&, who] {
      work(run.simulation, static_cast<Ps>(who) * 500 * ns);
      run.operation();
      ends[who] = run.now();
      usage[who] = run.runtime.usage();
    });
  }
  run(bodies);
  // From 1 us on, when all are awake. A maps from 1 to 3 us and is in line behind B and C for its second
  // mapping; each of the five that were waited for takes 1 us of waking up, 30 us and 2 us.
  constexpr Ps handed = 33 * us;
  constexpr Ps first = 3 * us;
  CHECK(ends[0] == first + 3 * handed);
  CHECK(ends[1] == first + 4 * handed);
  CHECK(ends[2] == first + 5 * handed);
  CHECK(usage[0].voluntary_switches == 1);
  CHECK(usage[1].voluntary_switches == 2);
  CHECK(usage[2].voluntary_switches == 2);
}

}  // namespace
}  // namespace rkv::sim::test
