#include "backends/sim/run/windows_tell.hpp"

#include <set>
#include <vector>

#include "backends/sim/nic/nic.hpp"

namespace rkv::sim {
namespace {

constexpr std::uint32_t too_few_to_be_held_back = 2;
// Of all clients at the card. On DAS-5 windows were 0.2 % off with rounds of 25 us, 1.1 % with 51.
constexpr Ps long_round = 30'000'000;

// CPUs that threads may run on; where they poll, cores.
std::size_t places(const std::vector<int>& cpus, const HostProfile& host, bool polling) {
  const std::uint32_t all = polling ? host.cpu.cpus() / host.cpu.smt_ways : host.cpu.cpus();
  if (cpus.empty()) return all;
  std::set<std::uint32_t> distinct;
  for (const int cpu : cpus) distinct.insert(static_cast<std::uint32_t>(cpu) % all);
  return distinct.size();
}

// Of an operation, on either side.
Ps card_time(Transport transport, const NicProfile& nic) {
  if (transport == Transport::tcp) return 0;
  const NicTransportProfile& costs = Nic::costs_of(nic, transport);
  return (costs.send + costs.receive + costs.ack + costs.take_ack) / nic.processing_units;
}

}  // namespace

bool windows_tell(const Scenario& scenario, const Profile& profile, std::uint32_t clients) {
  if (scenario.workload == Workload::verbs) return false;
  const std::vector<int>& at_server = scenario.server.cores;
  const std::vector<int>& at_client = scenario.client.cores;
  const std::uint32_t workers = scenario.server.workers == 0 ? clients : scenario.server.workers;
  const bool server = server_polls(scenario);
  const bool client = client_polls(scenario);
  if (profile.network.one_host) {
    std::vector<int> both;
    if (!at_server.empty() && !at_client.empty()) {
      both = at_server;
      both.insert(both.end(), at_client.begin(), at_client.end());
    }
    if (workers + clients > places(both, profile.server, server || client)) return false;
  }
  const std::uint32_t hosts = profile.network.one_host ? 1 : profile.network.client_hosts;
  return workers <= places(at_server, profile.server, server) &&
         clients <= places(at_client, profile.client, client) * hosts;
}

bool history_decides(const Scenario& scenario, const Profile& profile, std::uint32_t clients) {
  if (server_polls(scenario) && client_polls(scenario)) {
    return clients * card_time(scenario.transport, profile.nic) > long_round;
  }
  const bool draws = profile.server.scheduler.wake_to_interrupt || profile.client.scheduler.wake_to_interrupt;
  return draws && clients > too_few_to_be_held_back;
}

}  // namespace rkv::sim
