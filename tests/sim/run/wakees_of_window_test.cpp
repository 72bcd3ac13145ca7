// When counts of whom interrupts wake begin anew in a window, as in its run.
#include "backends/sim/run/wakees_of_window.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("CPUs of a window have begun their counts when those of its run have") {
  Profile profile = free_profile(4);
  profile.server.scheduler.wake_to_interrupt = GENERATE(false, true);
  profile.client.scheduler.wake_to_interrupt = GENERATE(false, true);
  Scenario scenario;
  scenario.seed = 7;
  scenario.load.connect_pause = GENERATE(0ms, 300ms, 1000ms);
  const WakeesOfWindow wakees = wakees_of_window(profile, scenario);
  if (!profile.server.scheduler.wake_to_interrupt && !profile.client.scheduler.wake_to_interrupt) {
    CHECK(wakees.cpus_began.empty());
    return;
  }
  CHECK(wakees.period == 1001ms);
  Simulation run(profile, {.seed = scenario.seed});
  REQUIRE(wakees.cpus_began.size() == run.host_count());
  for (std::uint32_t host = 0; host < run.host_count(); ++host) {
    if (!run.host(host).cpus().scheduler().wake_to_interrupt) continue;
    for (std::size_t cpu = 0; cpu < 4; ++cpu) {
      const Ps began = wakees.cpus_began[host][cpu];
      // Before time 0 of the simulation. The first client begins after the pause, and with it counts that
      // have lasted for a second.
      const Ps since = run.host(host).cpus().core(cpu).idle_wakees().since;
      CHECK(since > -1000 * ms);
      CHECK(since <= 0);
      const Ps age = to_ps(scenario.load.connect_pause) - since;
      CHECK(began == (age > 1000 * ms ? 0 : -age));
    }
  }
}

TEST_CASE("counts begin with a window, the last time in the run that they did") {
  Run run(free_profile(1));
  std::vector<Ps> since;
  Ps of_cpu = 0;
  Ps shown = 0;
  run({[&] {
         work(run.simulation, 3 * ms);
         WakeesOfWindow wakees{.cpus_began = {{-300 * ms}, {0}},
                               .clients_begin_apart = 100ms,
                               .period = 1001ms,
                               .now = 2550 * ms,
                               .times = 20};
         CHECK(wakees.period_in_window() == 50050us);
         const auto threads = run.simulation.threads();
         threads[0]->wakees.flips = 5;
         begin_counts(wakees, run.simulation, threads, {});
         work(run.simulation, 1 * ms);
         for (const auto& thread : threads) since.push_back(thread->wakees.since);
         CHECK(threads[0]->wakees.flips == 0);
         Processors& cpus = run.simulation.host(0).cpus();
         of_cpu = cpus.core(0).idle_wakees().since;
         shown = cpus.wakees_clock().at(run.simulation.world().now());
       },
       [] {}, [] {}, [] {}, [] {}, [] {}, [] {}});
  // The first two clients began at 0.1 s: while there was one, no interrupt woke another's threads. One that
  // began at 0.6 s is due again at 2.602 s.
  since.resize(7);
  CHECK(since ==
        std::vector<Ps>{2102 * ms, 2102 * ms, 2202 * ms, 2302 * ms, 2402 * ms, 2502 * ms, 1601 * ms});
  CHECK(of_cpu == 1702 * ms);
  CHECK(shown == 2570 * ms);
}

TEST_CASE("a client that has not begun yet has its count begin as if it had before") {
  Run run(free_profile(1));
  Ps since = 0;
  run({[&] {
    begin_counts({.cpus_began = {{0}, {0}}, .clients_begin_apart = 3s, .period = 1001ms, .now = 2550 * ms},
                 run.simulation, run.simulation.threads().first(1), {});
    since = run.simulation.threads()[0]->wakees.since;
  }});
  CHECK(since == 1999 * ms);
}

}  // namespace
}  // namespace rkv::sim::test
