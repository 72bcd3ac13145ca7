// The suite on simulated machines: a pair of hosts with an RNIC each, or one host with soft0.
#include "backends/sim/port/sim_ports.hpp"

#include "tests/port/port_fixture.hpp"

namespace rkv::test {

void with_ports(Transport transport, const std::function<void(const PortPair&)>& body) {
  sim::Profile profile;
#ifdef RKV_TEST_SOFT
  profile.nic.kind = sim::NicProfile::Kind::soft;
  profile.network.one_host = true;
#endif
  profile.network.switch_latency = 0;
  sim::Simulation simulation(profile);
  sim::SimPorts ports(simulation, transport);
  simulation.run([&] { body({ports.port(0), ports.port(simulation.host_count() - 1)}); });
}

bool overlaps_are_certain() {
  return true;
}

}  // namespace rkv::test
