// The clock that falls as more cores of a socket are active, and what goes with it.
#include <array>
#include <catch2/catch.hpp>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/cpu/memory.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// One core active: twice the clock that costs are given for; two: one and a half; more: that clock.
Profile turbo_profile(std::uint32_t cpus) {
  Profile profile = free_profile(cpus);
  profile.server.cpu.clock_ghz = 2;
  profile.server.cpu.turbo_ghz = {4, 3, 2};
  return profile;
}

// When each thread, on a CPU of its own, has done so much work.
template <std::size_t threads>
std::array<Ps, threads> ended(const Profile& profile, const std::array<Ps, threads>& works) {
  Simulation simulation(profile);
  SimRuntime runtime(simulation, simulation.host(0));
  std::array<Ps, threads> at{};
  simulation.run([&] {
    std::vector<std::function<void()>> bodies;
    std::vector<std::vector<int>> cpus;
    for (std::size_t i = 0; i < threads; ++i) {
      cpus.push_back({static_cast<int>(i)});
      bodies.emplace_back([&, i] {
        work(simulation, works[i]);
        at[i] = simulation.world().now();
      });
    }
    run_threads(runtime, bodies, cpus);
  });
  return at;
}

constexpr Ps period = 500 * us;  // between decisions; until the first it is the clock of the costs

TEST_CASE("work goes with the clock, which is decided every 500 us", "[turbo]") {
  CHECK(ended<1>(turbo_profile(4), {300 * us})[0] == 300 * us);
  CHECK(ended<1>(turbo_profile(4), {period + 2 * ms})[0] == period + 1 * ms);
  CHECK(ended<1>(free_profile(4), {period + 2 * ms})[0] == period + 2 * ms);
}

TEST_CASE("more active cores, a lower clock, and a higher one when they are gone", "[turbo]") {
  const auto three = ended<3>(turbo_profile(4), {period + 1 * ms, period + 1 * ms, period + 1 * ms});
  for (const Ps at : three) CHECK(at == period + 1 * ms);
  // Two for 750 us at 1.5, then the first alone: at the next decision, 1500 us, the other has been active in
  // that period, so that its clock rises at 2000 us.
  const auto two = ended<2>(turbo_profile(4), {period + 4500 * us, period + 1125 * us});
  CHECK(two[1] == period + 750 * us);
  CHECK(two[0] == 2000 * us + 1125 * us);
}

TEST_CASE("sockets have a clock each, and siblings count as one core", "[turbo]") {
  Profile profile = turbo_profile(1);
  profile.server.cpu.sockets = 2;
  for (const Ps at : ended<2>(profile, {period + 2 * ms, period + 2 * ms})) CHECK(at == period + 1 * ms);
  profile.server.cpu.sockets = 1;
  profile.server.cpu.smt_ways = 2;
  profile.server.cpu.smt_throughput = 0.5;
  // Half of twice the clock, and half of it until it is decided.
  for (const Ps at : ended<2>(profile, {period / 2 + 1 * ms, period / 2 + 1 * ms})) {
    CHECK(at == period + 1 * ms);
  }
}

TEST_CASE("of a walk only its share goes with the clock", "[turbo]") {
  const double share = GENERATE(0.0, 0.25, 1.0);
  Profile profile = turbo_profile(4);
  profile.server.memory.walk = {{1, 100 * ns}};
  profile.server.memory.walk_clock_share = share;
  profile.server.memory.cache_bytes = 1'000'000;
  Simulation simulation(profile);
  SimRuntime runtime(simulation, simulation.host(0));
  Ps took = 0;
  simulation.run([&] {
    run_threads(runtime, {[&] {
                  work(simulation, period + 100 * us);  // from here on at twice the clock
                  const Ps since = simulation.world().now();
                  runtime.charge({.entries_walked = 1000, .working_set_bytes = 1000});
                  simulation.world().current()->flush();
                  took = simulation.world().now() - since;
                }});
  });
  CHECK(took == std::llround(static_cast<double>(100 * us) * (share / 2 + (1 - share))));
}

}  // namespace
}  // namespace rkv::sim::test
