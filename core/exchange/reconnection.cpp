#include "core/exchange/reconnection.hpp"

namespace rkv {

bool can_reconnect(const Scenario& scenario, std::uint32_t clients, std::uint32_t workers) {
  if (scenario.transport != Transport::rc || scenario.exchange != Exchange::send_send) return false;
  // A queue pair that fails does not give back receives that it shares, so that none tells of its end.
  if (scenario.queue_pair.shared_receive_queue) return false;
  // One that fails leaves the client's others connected.
  if (scenario.queue_pair.per_client > 1) return false;
  // Workers that share completion queues take each other's, so that none knows when it has seen the last.
  return workers == 1 || (scenario.completion.mode != CompletionMode::shared && workers <= clients);
}

}  // namespace rkv
