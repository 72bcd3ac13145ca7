// What a window takes over from the run that it is a piece of.
#include "backends/sim/run/simulate_window.hpp"

#include <catch2/catch.hpp>

#include "backends/sim/run/run_so_far.hpp"
#include "backends/sim/run/thesis_stage.hpp"
#include "tests/sim/run/thesis_run.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t pollers = 4;

// Entries walked in each of two sockets, in a run whose threads would change sockets once a second: workers
// that poll, and nothing but balancing changes their socket.
std::vector<double> walked(Duration moving, Ps move_period, std::vector<double> before) {
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
  const WindowPlan plan{.clients = std::vector<std::optional<std::uint64_t>>(pollers, 1'000),
                        .stays = std::vector<bool>(pollers),
                        .warm_up = 10ms,
                        .measured = 5ms,
                        .moving = moving,
                        .move_period = move_period,
                        .walked = std::move(before),
                        .cool_down = 1ms};
  return simulate_window(profile, scenario, plan, stage, {}).walked;
}

TEST_CASE("threads hurry to where a run's entries lie while a window warms up", "[sampling]") {
  constexpr double long_run = 1e12;
  const auto in_the_other = [&](Duration moving, Ps move_period) {
    const std::vector<double> entries = walked(moving, move_period, {long_run, 0});
    REQUIRE(entries.size() == 2);
    REQUIRE(entries[0] > long_run);
    return entries[1];
  };
  const double stayed = in_the_other(0ms, 0);
  REQUIRE(stayed > 0);
  REQUIRE(in_the_other(8ms, 1 * ms) < stayed / 4);
  REQUIRE(in_the_other(0ms, 1 * ms) == stayed);  // no time to
}

TEST_CASE("a window without a run before it has only its own entries", "[sampling]") {
  const std::vector<double> entries = walked(0ms, 0, {});
  REQUIRE(entries.size() == 2);
  REQUIRE(entries[0] > 0);
  REQUIRE(entries[1] > 0);
}

}  // namespace
}  // namespace rkv::sim::test
