// What a program that runs both sides on one host needs a CPU for beside their threads.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("a program that looks how far it has come takes a CPU from who polls, ten times a second") {
  Profile profile = golden_one_host();
  profile.server.cpu.cores_per_socket = GENERATE(2, 3);
  const bool one_is_free = profile.server.cpu.cores_per_socket == 3;
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 0;
  scenario.load.duration = std::chrono::milliseconds{450};
  const PointResult point = simulate_point(profile, scenario, 1, {}).result;
  REQUIRE(point.partial_reason.empty());
  // Of two CPUs the client shares one with the program's own thread, which waits for a slice of the client's
  // to go on when it has made it, and then looks at 100, 200, 300 and 400 ms. Of three it has the third.
  CHECK(point.server.involuntary_switches + point.client.involuntary_switches == (one_is_free ? 0 : 1 + 4));
}

}  // namespace
}  // namespace rkv::sim::test
