// The network model against SimGrid's own flow-level one, on the same scenarios. They are to agree on
// messages that seldom meet, and on what a full link passes; in between they differ, since messages of this
// model wait for each other in turn, and SimGrid's share the link.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

struct Setup {
  Transport transport = Transport::rc;
  std::uint32_t clients = 1;
  Ps switch_latency = 0;
  double gbit_s = 1;
  std::uint64_t operations = 1;
};

struct Took {
  Ps latency = 0;  // mean
  Ps all = 0;      // from the first request to the last response
};

Took took(const Setup& setup, std::uint64_t flow_bytes) {
  Profile profile = golden_profile();
  profile.network.switch_latency = setup.switch_latency;
  profile.network.link_bandwidth_gbit_s = setup.gbit_s;
  profile.network.flow_bytes = flow_bytes;
  for (HostProfile* host : {&profile.server, &profile.client}) host->cpu.cores_per_socket = setup.clients;
  Scenario scenario = golden_scenario(setup.transport, CompletionMode::event);
  scenario.load.total_operations = setup.operations;
  scenario.value_size.bytes = 2000;
  scenario.message.value_capacity_bytes = 2000;
  const SimulatedPoint point = simulate_point(profile, scenario, setup.clients, {});
  REQUIRE(point.result.operations.total() == setup.operations);
  Ps sum = 0;
  for (const TraceBuffer& trace : point.traces) {
    for (const TraceRecord& record : trace.records()) sum += to_ps(record.received - record.sent);
  }
  return {.latency = sum / static_cast<Ps>(setup.operations), .all = to_ps(point.result.window.length())};
}

TEST_CASE("a message alone takes the same in SimGrid's network as in this one", "[flow]") {
  const Setup setup{.transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud),
                    .switch_latency = GENERATE(0, 439 * ns)};
  CHECK(std::abs(took(setup, 1).latency - took(setup, 0).latency) <= 1 * ns);  // SimGrid reckons in doubles
}

TEST_CASE("mean latencies agree within two per cent", "[flow]") {
  const auto clients = GENERATE(1U, 4U);
  const Setup setup{.transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud),
                    .clients = clients,
                    .switch_latency = GENERATE(0, 439 * ns),
                    .gbit_s = clients == 1 ? 1.0 : 20.0,
                    .operations = 400};
  CAPTURE(static_cast<int>(setup.transport), setup.clients, setup.switch_latency);
  const Ps own = took(setup, 0).latency;
  const Ps flows = took(setup, 1).latency;
  CHECK(std::abs(flows - own) <= own / 50);
}

TEST_CASE("a full link passes as many messages in both", "[flow]") {
  // Sixteen responses of 2 KB take 270 us, the rest of an operation less than 100. (TCP's copies take longer,
  // and sharing keeps its clients in step, so that together they leave the link idle.)
  const Setup setup{.transport = GENERATE(Transport::rc, Transport::uc, Transport::ud),
                    .clients = 16,
                    .switch_latency = GENERATE(0, 439 * ns),
                    .gbit_s = 1,
                    .operations = 1600};
  CAPTURE(static_cast<int>(setup.transport), setup.switch_latency);
  const Ps own = took(setup, 0).all;
  const Ps flows = took(setup, 1).all;
  CHECK(std::abs(flows - own) <= own / 50);
}

}  // namespace
}  // namespace rkv::sim::test
