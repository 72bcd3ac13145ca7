// A client's end of an exchange over a queue pair: what connects it.
#pragma once

#include <memory>

#include "core/exchange/client_exchange.hpp"

namespace rkv {

class VerbsClient : public ClientExchange {
 public:
  // What the server must know of it. Its receives are posted.
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  virtual void connect(const Endpoint& server) = 0;
};

// By the scenario's exchange, which is none over sockets. The port and the flag outlive it.
[[nodiscard]] std::unique_ptr<VerbsClient> make_verbs_client(const Port& port, const Scenario& scenario,
                                                             const StopFlag& stop);

}  // namespace rkv
