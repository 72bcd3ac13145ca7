// The server's end of an exchange over queue pairs: what connects its clients, and what its workers have in
// common. Made and connected by one thread before any worker runs.
#pragma once

#include <memory>

#include "core/exchange/reconnection.hpp"
#include "core/exchange/server_exchange.hpp"
#include "core/port/wait.hpp"

namespace rkv {

class VerbsHub {
 public:
  virtual ~VerbsHub() = default;

  // Where this client connects to.
  [[nodiscard]] virtual Endpoint endpoint(std::uint32_t client) const = 0;
  virtual void connect(std::uint32_t client, const Endpoint& peer) = 0;
  // The end of one worker; call once for each.
  virtual std::unique_ptr<ServerExchange> make_worker(std::uint32_t worker, const StopFlag& stop) = 0;
  // Null where clients are not connected anew.
  [[nodiscard]] virtual ServerLinks* links() { return nullptr; }
};

// By the scenario's exchange, which is none over sockets. `on_link_down`: for clients that can_reconnect(),
// else empty; workers call it.
[[nodiscard]] std::unique_ptr<VerbsHub> make_verbs_hub(const Port& port, const Scenario& scenario,
                                                       std::uint32_t clients, std::uint32_t workers,
                                                       OnLinkDown on_link_down = {});

}  // namespace rkv
