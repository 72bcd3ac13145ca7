// What a window takes over from the run that it is a piece of.
#include "backends/sim/run/simulate_window.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/sim/run/run_so_far.hpp"
#include "backends/sim/run/thesis_stage.hpp"
#include "tests/sim/run/thesis_run.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t pollers = 4;

// A window of a run whose threads change sockets once a second: workers that poll, and nothing but balancing
// changes their socket.
SidesInWindow window(const WindowPlan& times) {
  Profile profile;
  profile.server.cpu.sockets = 2;
  profile.server.cpu.cores_per_socket = 8;
  profile.server.scheduler.numa_balancing = 1'000 * ms;
  const Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  RunSoFar run(pollers);
  const std::vector<double> done(pollers, 1'000);
  run.add(done);
  ThesisStage stage(scenario.seed, pollers, scenario.store.buckets, run);
  stage.follow();
  WindowPlan plan = times;
  plan.clients.assign(pollers, 1'000);
  plan.stays.resize(pollers);
  plan.begin = 2ms;
  plan.measured = 5ms;
  plan.cool_down = 1ms;
  return simulate_window(profile, scenario, plan, stage, {});
}

std::size_t in_the_other_socket(const Placement& placement) {
  return static_cast<std::size_t>(
      std::count_if(placement.threads.begin(), placement.threads.begin() + pollers,
                    [](const Placement::OfThread& worker) { return worker.cpu >= 8; }));
}

TEST_CASE("threads go on where the window before has left them", "[sampling]") {
  WindowPlan plan;
  plan.before = window({}).placement;
  REQUIRE(in_the_other_socket(plan.before) == pollers / 2);  // as they are placed when they are new
  for (std::size_t worker = 0; worker < pollers; ++worker) plan.before.threads[worker].cpu = 2 * worker + 1;
  const Placement after = window(plan).placement;
  for (std::size_t thread = 0; thread < after.threads.size(); ++thread) {
    CHECK(after.threads[thread].cpu == plan.before.threads[thread].cpu);
  }
}

TEST_CASE("threads move to where a run's entries lie as often as the run would have them", "[sampling]") {
  constexpr double long_run = 1e12;
  WindowPlan plan;
  plan.before = window({}).placement;
  plan.before.walked = {long_run, 0};
  for (std::size_t worker = 0; worker < pollers; ++worker) plan.before.threads[worker].cpu = 8 + worker;
  plan.hurry = 100;
  REQUIRE(in_the_other_socket(window(plan).placement) == pollers);
  plan.moving = 3ms;  // three tenths of a second, in which the first of four has its turn
  REQUIRE(in_the_other_socket(window(plan).placement) == pollers - 1);
  plan.moving = 6ms;
  REQUIRE(in_the_other_socket(window(plan).placement) == pollers - 2);
  plan.moving = 11ms;  // more would leave that socket with too few threads
  const Placement moved = window(plan).placement;
  REQUIRE(in_the_other_socket(moved) == pollers / 2);
  REQUIRE(moved.walked[0] > long_run);
}

TEST_CASE("a window without a run before it has only its own entries", "[sampling]") {
  const std::vector<double> entries = window({}).placement.walked;
  REQUIRE(entries.size() == 2);
  REQUIRE(entries[0] > 0);
  REQUIRE(entries[1] > 0);
}

}  // namespace
}  // namespace rkv::sim::test
