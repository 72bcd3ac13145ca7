// Workers begin as their clients do.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("with a worker each, clients that start one after the other find only the workers of those before",
          "[points]") {
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 3;
  scenario.load.start_stagger = 100ms;
  scenario.server.workers = GENERATE(0U, 2U);
  const PointResult result = simulate_point(golden_profile(), scenario, 3, {}).result;
  REQUIRE(result.operations.total() == 3);
  // They spin until the last client, which starts at 200 ms, is done.
  const Duration spun = scenario.server.workers == 0 ? 200ms + 100ms : 2 * 200ms;
  CHECK(result.server.cpu_time > spun);
  CHECK(result.server.cpu_time < spun + 1ms);
}

TEST_CASE("clients that stay poll on until the last one is done, others leave", "[points]") {
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 3;
  scenario.load.start_stagger = 100ms;
  scenario.load.stay_until_all_end = GENERATE(false, true);
  const PointResult result = simulate_point(golden_profile(), scenario, 3, {}).result;
  REQUIRE(result.operations.total() == 3);
  // The last begins, and is done, at 200 ms.
  const Duration spun = scenario.load.stay_until_all_end ? 200ms + 100ms : 0ms;
  CHECK(result.client.cpu_time > spun);
  CHECK(result.client.cpu_time < spun + 1ms);
}

}  // namespace
}  // namespace rkv::sim::test
