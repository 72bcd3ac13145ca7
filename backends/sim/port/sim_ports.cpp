#include "backends/sim/port/sim_ports.hpp"

namespace rkv::sim {

SimPorts::SimPorts(Simulation& simulation, Transport transport)
    : wait_sets_(simulation.world()), fabric_(simulation.world(), simulation.network()) {
  const Profile& profile = simulation.profile();
  sides_.resize(simulation.host_count());
  std::vector<Host*> hosts;
  for (std::uint32_t number = 0; number < sides_.size(); ++number) {
    Host& host = simulation.host(number);
    hosts.push_back(&host);
    Side& side = sides_[number];
    side.runtime = std::make_unique<SimRuntime>(simulation, host);
    if (transport == Transport::tcp) continue;
    side.card = make_card(fabric_, profile.nic, number);
    side.device =
        std::make_unique<SimDevice>(simulation.world(), host, *side.card, profile.nic, profile.network);
  }
  if (transport != Transport::tcp) return;
  tcp_ = std::make_unique<Tcp>(simulation.world(), simulation.network(), profile.tcp, hosts);
  for (std::uint32_t number = 0; number < sides_.size(); ++number) {
    sides_[number].streams = std::make_unique<SimStreamNetwork>(*tcp_, *hosts[number]);
  }
}

Port SimPorts::port(std::uint32_t host) {
  const Side& side = sides_[host];
  return {.runtime = side.runtime.get(),
          .wait_sets = &wait_sets_,
          .device = side.device.get(),
          .streams = side.streams.get()};
}

std::map<std::string, std::uint64_t> SimPorts::injected_faults() const {
  FaultCounts sum;
  for (const Side& side : sides_) {
    if (!side.card) continue;
    const FaultCounts& faults = side.card->faults();
    sum.lost += faults.lost;
    sum.duplicated += faults.duplicated;
    sum.reordered += faults.reordered;
    sum.no_receive += faults.no_receive;
  }
  std::map<std::string, std::uint64_t> faults;
  const auto name = [&](const char* fault, std::uint64_t count) {
    if (count > 0) faults[fault] = count;
  };
  name("drop", sum.lost);
  name("duplicate", sum.duplicated);
  name("reorder", sum.reordered);
  name("no_receive", sum.no_receive);
  return faults;
}

}  // namespace rkv::sim
