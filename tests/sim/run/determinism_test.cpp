// The same input gives the same output, and time does not lose its digits in long runs.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "core/report/exchange.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

// A point that leaves nothing to itself: losses, random caches, more threads than CPUs.
std::string outcome(Transport transport, CompletionMode mode, std::uint64_t seed, bool single_steps,
                    std::uint64_t flow_bytes = 0) {
  Profile profile = golden_profile();
  profile.server.cpu.cores_per_socket = profile.client.cpu.cores_per_socket = 2;
  profile.network.client_hosts = 2;
  profile.network.loss = profile.network.duplicate = profile.network.reorder = 0.03;
  profile.network.flow_bytes = flow_bytes;
  profile.nic.qp_cache = {.entries = 3, .policy = CacheProfile::Policy::random};
  profile.nic.retransmit_delay = 100 * us;
  Scenario scenario = golden_scenario(transport, mode);
  scenario.load.total_operations = 300;
  scenario.operations = {.get = 0.5, .set = 0.4, .del = 0.1};
  scenario.keys.count = 50;
  scenario.keys.distribution = KeyOptions::Distribution::uniform;
  scenario.load.window = 3;
  scenario.retry = {.timeout = std::chrono::milliseconds(1), .retries = 5};
  scenario.seed = seed;
  const PointResult result =
      simulate_point(profile, scenario, 7,
                     {.simulation = {.seed = seed, .single_steps = single_steps}, .keep_on = {}})
          .result;
  REQUIRE(result.operations.total() + result.lost == 300);
  return to_json(result).dump();
}

TEST_CASE("a point is the same each time, with single steps too, and another with another seed",
          "[determinism]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event);
  CAPTURE(static_cast<int>(transport), static_cast<int>(mode));
  const std::string first = outcome(transport, mode, 1, false);
  CHECK(outcome(transport, mode, 1, false) == first);
  CHECK(outcome(transport, mode, 1, true) == first);
  CHECK(outcome(transport, mode, 2, false) != first);
}

TEST_CASE("with SimGrid's network too", "[determinism]") {
  const std::string first = outcome(Transport::rc, CompletionMode::event, 1, false, 1);
  CHECK(outcome(Transport::rc, CompletionMode::event, 1, false, 1) == first);
  CHECK(outcome(Transport::rc, CompletionMode::event, 1, true, 1) == first);
}

TEST_CASE("three hours after its start, an operation takes the same to the nanosecond", "[determinism]") {
  using namespace std::chrono_literals;
  const auto transport = GENERATE(Transport::tcp, Transport::rc);
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::busy);
  Profile profile = golden_profile();
  profile.server.memory.walk[0].cost = 0;  // keys' places in the chain are all one
  // A spinning thread looks every nanosecond, so that it does not matter since when it spins.
  for (HostProfile* host : {&profile.server, &profile.client}) host->rc.empty_poll = 1 * ns;
  profile.tcp.empty_receive = 1 * ns;
  for (HostProfile* host : {&profile.server, &profile.client}) host->scheduler.syscall = 0;
  Scenario scenario = golden_scenario(transport, mode);
  scenario.load.total_operations = 5;
  scenario.load.think_time = 1h;
  const SimulatedPoint point = simulate_point(profile, scenario, 1, {});
  const auto records = point.traces.at(0).records();
  REQUIRE(records.size() == 5);
  // After the response: the stamp's clock read, the clock read that the think time counts from; at its end
  // the wake-up, another clock read, the operation and its key.
  const HostProfile& client = profile.client;
  const Ps between = 3 * client.program.clock_read + to_ps(Duration(1h)) + client.scheduler.wakeup_latency +
                     client.program.client_operation + key_bytes * memory_byte;
  for (std::size_t i = 1; i < records.size(); ++i) {
    CHECK(records[i].received - records[i].sent == records[0].received - records[0].sent);
    CHECK(to_ps(records[i].sent - records[i - 1].received) == between);
  }
  CHECK(point.result.window.length() > 10'000s);
}

TEST_CASE("clients that start hours apart", "[determinism]") {
  using namespace std::chrono_literals;
  const Profile profile = golden_profile();
  Scenario scenario = golden_scenario(Transport::uc, CompletionMode::event);
  scenario.load.total_operations = 4;
  scenario.load.start_stagger = 1h;
  const SimulatedPoint point = simulate_point(profile, scenario, 4, {});
  // The first does not sleep, and it comes to life by a switch; the others by a wake-up.
  for (std::size_t i = 2; i < 4; ++i) {
    CHECK(point.traces.at(i).records()[0].sent - point.traces.at(i - 1).records()[0].sent == 1h);
  }
  CHECK(point.result.window.length() > 10'000s);
}

}  // namespace
}  // namespace rkv::sim::test
