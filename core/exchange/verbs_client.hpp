// A client's end of an exchange over a queue pair: what connects it.
#pragma once

#include <memory>

#include "core/exchange/client_exchange.hpp"
#include "core/exchange/reconnection.hpp"

namespace rkv {

class VerbsClient : public ClientExchange {
 public:
  // What the server must know of it. Its receives are posted.
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  virtual void connect(const Endpoint& server) = 0;
  // The server's end is lost: the client's thread notices and connects anew, or finds the connection gone.
  // Any thread.
  virtual void fail() = 0;
};

// By the scenario's exchange, which is none over sockets. The port and the flag outlive it. `reconnect`: for
// clients that can_reconnect(), else empty.
[[nodiscard]] std::unique_ptr<VerbsClient> make_verbs_client(const Port& port, const Scenario& scenario,
                                                             const StopFlag& stop, Reconnect reconnect = {});

}  // namespace rkv
