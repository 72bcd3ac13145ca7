#include "core/run/sides.hpp"

#include <utility>

#include "core/run/client_point.hpp"
#include "core/run/server_point.hpp"
#include "core/run/server_store.hpp"
#include "core/run/verbs_load_sides.hpp"

namespace rkv {

void add_server(PointResult& point, const ServerResult& served) {
  point.server = served.usage;
  point.server_replays = served.counts.replays;
  point.server_work = {.served = served.counts.served,
                       .ignored = served.counts.ignored,
                       .rejected = served.counts.rejected,
                       .broken_sessions = served.counts.broken_sessions,
                       .entries_walked = served.counts.work.entries_walked,
                       .bytes_copied = served.counts.work.bytes_copied,
                       .store_entries = served.store_entries};
  point.other_way = served.other_way;
  if (point.partial_reason.empty()) point.partial_reason = served.failure;
}

std::unique_ptr<ServerSide> make_server_side(const Port& port, const Scenario& scenario, ServerNeeds needs) {
  if (scenario.workload == Workload::verbs) {
    return std::make_unique<VerbsLoadServer>(port, scenario, needs.clients, needs.processes);
  }
  return std::make_unique<ServerPoint>(port, scenario, needs.clients, needs.token,
                                       make_server_store(port, scenario, needs.clients, needs.store_bytes),
                                       std::move(needs.on_link_down));
}

std::unique_ptr<ClientSide> make_client_side(const Port& port, const Scenario& scenario,
                                             const ClientShare& share, ReconnectClient reconnect) {
  if (scenario.workload == Workload::verbs) {
    return std::make_unique<VerbsLoadClients>(port, scenario, share);
  }
  return std::make_unique<ClientPoint>(port, scenario, share, std::move(reconnect));
}

}  // namespace rkv
