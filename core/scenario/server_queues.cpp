#include "core/scenario/server_queues.hpp"

#include <algorithm>

namespace rkv {

std::uint32_t worker_count(const Scenario& scenario, std::uint32_t clients) {
  if (scenario.server.workers == 0) return clients;
  // A stream or a client's slots belong to one worker, so there is nothing for more of them to do.
  const bool dealt_out = scenario.transport == Transport::tcp || uses_slots(scenario.exchange);
  return dealt_out ? std::min(scenario.server.workers, clients) : scenario.server.workers;
}

std::uint32_t queue_pair_count(const Scenario& scenario, std::uint32_t clients) {
  return scenario.transport == Transport::ud ? std::min(scenario.server.ud_queue_pairs, clients)
                                             : clients * scenario.queue_pair.per_client;
}

std::uint32_t group_count(const Scenario& scenario, std::uint32_t clients) {
  if (scenario.completion.mode == CompletionMode::shared) return 1;
  // Those of one client are in one group.
  const std::uint32_t apart =
      scenario.transport == Transport::ud ? queue_pair_count(scenario, clients) : clients;
  return std::min(worker_count(scenario, clients), apart);
}

std::uint64_t shared_receives(const Scenario& scenario, std::uint32_t clients) {
  const QueuePairOptions& options = scenario.queue_pair;
  const bool in_all = options.receive_scope == QueuePairOptions::ReceiveScope::in_all;
  return std::uint64_t{options.receive_depth} * (in_all ? 1 : clients);
}

}  // namespace rkv
