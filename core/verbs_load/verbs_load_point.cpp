#include "core/verbs_load/verbs_load_point.hpp"

namespace rkv {

VerbsLoadPoint::VerbsLoadPoint(const Port& clients_port, const Port& servers_port, const Scenario& scenario,
                               std::uint32_t clients)
    : clients_(clients_port, scenario, VerbsLoadSide::Role::clients, {client_share(clients, 0, 1)}),
      server_(servers_port, scenario, VerbsLoadSide::Role::server, {client_share(clients, 0, 1)}) {
  for (std::uint32_t group = 0; group < clients_.groups(); ++group) {
    clients_.connect(group, server_.endpoint(group));
    server_.connect(group, clients_.endpoint(group));
  }
}

// Both before either is destroyed: threads of one side wait for what the other does.
VerbsLoadPoint::~VerbsLoadPoint() {
  stop();
}

void VerbsLoadPoint::start(Instant start) {
  clients_.start_receivers();
  server_.start_receivers();
  clients_.start_clients(start);
  server_.start_clients(start);
}

void VerbsLoadPoint::stop() {
  clients_.stop();
  server_.stop();
}

PointResult VerbsLoadPoint::collect(Instant epoch) {
  PointResult point = clients_.collect_clients(epoch);
  const VerbsLoadSide::Returned returned = server_.collect_other_way();
  point.server = returned.usage;
  point.other_way = returned.other_way;
  const VerbsLoadSide::Received at_clients = clients_.collect_receivers();
  point.client.merge(at_clients.usage);
  const VerbsLoadSide::Received at_server = server_.collect_receivers();
  point.server.merge(at_server.usage);
  point.server_work.served = at_server.messages;
  for (const auto& received : {at_clients, at_server}) {
    if (point.partial_reason.empty()) point.partial_reason = received.failure;
  }
  return point;
}

}  // namespace rkv
