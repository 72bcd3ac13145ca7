#include <utility>

#include "core/exchange/send_send_client.hpp"
#include "core/exchange/send_send_server.hpp"
#include "core/exchange/slots/slot_client.hpp"
#include "core/exchange/slots/slot_server.hpp"

namespace rkv {

std::unique_ptr<VerbsClient> make_verbs_client(const Port& port, const Scenario& scenario,
                                               const StopFlag& stop, Reconnect reconnect) {
  if (uses_slots(scenario.exchange)) return std::make_unique<SlotClient>(port, scenario, stop);
  return std::make_unique<SendSendClient>(port, scenario, stop, std::move(reconnect));
}

std::unique_ptr<VerbsHub> make_verbs_hub(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                         std::uint32_t workers, OnLinkDown on_link_down) {
  if (uses_slots(scenario.exchange)) return std::make_unique<SlotHub>(port, scenario, clients, workers);
  return std::make_unique<SendSendHub>(port, scenario, clients, workers, std::move(on_link_down));
}

}  // namespace rkv
