#include "core/run/verbs_load_sides.hpp"

#include <chrono>

namespace rkv {
namespace {

using namespace std::chrono_literals;

// After the clients' end: nothing that comes for so long is taken for nothing that comes, and so long is
// waited at most.
constexpr Duration quiet = 50ms;
constexpr Duration patience = 2s;

std::vector<ClientShare> shares_of(std::uint32_t clients, std::uint32_t processes) {
  std::vector<ClientShare> shares;
  for (std::uint32_t i = 0; i < processes; ++i) shares.push_back(client_share(clients, i, processes));
  return shares;
}

}  // namespace

VerbsLoadServer::VerbsLoadServer(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                 std::uint32_t processes)
    : port_(port),
      loses_sends_(scenario.verbs.sends() && scenario.transport == Transport::uc),
      side_(port, scenario, VerbsLoadSide::Role::server, shares_of(clients, processes)) {}

ConnectionRange VerbsLoadServer::connections_of(const ClientShare& share) const {
  return {.first = side_.first_group_of(share), .count = side_.groups_of(share)};
}

void VerbsLoadServer::start() {
  side_.start_receivers();
  side_.start_clients(port_.runtime->now());
}

// A SEND over UC has ended when it has left: the last ones may be on their way when their clients' end is
// known here, or lost.
void VerbsLoadServer::await_rest() const {
  const std::unique_ptr<StopFlag> never_raised = port_.runtime->make_stop_flag();
  const Instant deadline = port_.runtime->now() + patience;
  for (Instant now = port_.runtime->now(); now < deadline; now = port_.runtime->now()) {
    const std::uint64_t before = side_.messages_received();
    port_.runtime->sleep_until(now + quiet, *never_raised);
    if (side_.messages_received() == before) return;
  }
}

ServerResult VerbsLoadServer::collect() {
  const VerbsLoadSide::Returned returned = side_.collect_other_way();
  ServerResult result;
  result.usage = returned.usage;
  result.other_way = returned.other_way;
  if (loses_sends_) await_rest();
  const VerbsLoadSide::Received received = side_.collect_receivers();
  result.usage.merge(received.usage);
  result.counts.served = received.messages;
  result.failure = received.failure;
  return result;
}

void VerbsLoadClients::start(Instant start) {
  side_.start_receivers();
  side_.start_clients(start);
}

PointResult VerbsLoadClients::collect(Instant epoch) {
  PointResult point = side_.collect_clients(epoch);
  const VerbsLoadSide::Received received = side_.collect_receivers();
  point.client.merge(received.usage);
  if (point.partial_reason.empty()) point.partial_reason = received.failure;
  return point;
}

}  // namespace rkv
