// Where verbs' operations go in memory, told by how often their bytes lie across a line.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// How many packets of PCIe, of a line at most, an operation takes more than with places that are lines.
double more_packets(Scenario scenario) {
  constexpr Ps packet = 1'000 * ns;
  Profile profile = free_profile(1);
  profile.nic.pcie_payload_bytes = 64;
  profile.nic.pcie_packet = packet;
  profile.nic.pcie_cut_by_address = true;
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  scenario.verbs.bytes = 32;
  scenario.load.window = 1;
  scenario.load.total_operations = 4'000;
  const auto length = [&](std::uint32_t alignment_bytes) {
    scenario.verbs.alignment_bytes = alignment_bytes;
    return static_cast<double>(to_ps(simulate_point(profile, scenario, 1, {}).result.window.length()));
  };
  CHECK(length(32) == length(64));
  return (length(1) - length(64)) / static_cast<double>(packet) /
         static_cast<double>(scenario.load.total_operations);
}

// 32 bytes from any place lie across the end of a line with 31 of 64; five standard deviations of 4,000
// draws are 0.04.
constexpr double across = 31.0 / 64;

TEST_CASE("READs of any place, to any place", "[places]") {
  Scenario scenario;
  scenario.queue_pair.signal_interval = 1;
  CHECK(more_packets(scenario) == Approx(2 * across).margin(0.06));
}

TEST_CASE("READs that the client looks for stay where it looks", "[places]") {
  Scenario scenario;
  scenario.queue_pair.signal_interval = 1'000;
  CHECK(more_packets(scenario) == Approx(across).margin(0.04));
}

TEST_CASE("SENDs from any place", "[places]") {
  Scenario scenario;
  scenario.verbs.operation = VerbsOptions::Operation::send;
  scenario.queue_pair.signal_interval = 1;
  CHECK(more_packets(scenario) == Approx(across).margin(0.04));
}

}  // namespace
}  // namespace rkv::sim::test
