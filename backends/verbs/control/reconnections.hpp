// The server's part in connecting RC clients anew during a point (core/exchange/reconnection.hpp), as
// messages over the control connections:
//
//   server  {"disconnected": client}                               its queue pair for this client failed
//   client  {"reconnect": {"client": ..., "endpoint": {...}}}      and so did or does the client's
//   server  {"reconnected": {"client": ..., "endpoint": {...}}}    its queue pair is connected to the new
//           {"not_reconnected": client}                            or will not be
//
// What clients say is checked: rkv::Error for what makes no sense. Belongs to the server's thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "backends/verbs/control/connection.hpp"
#include "core/exchange/reconnection.hpp"

namespace rkv::control {

class Reconnections {
 public:
  // links: null where nobody is connected anew. Both outlive it.
  Reconnections(ServerLinks* links, std::vector<Connection>& processes, std::uint32_t clients);

  // Whether this message of a process was about reconnection.
  [[nodiscard]] bool take(std::size_t process, const nlohmann::json& message);
  // Links have changed their states.
  void look();

 private:
  struct Client {
    std::size_t process = 0;
    std::optional<Endpoint> asked;  // to be connected to it
    bool told = false;              // that it is disconnected
  };
  void settle(std::uint32_t number);

  ServerLinks* links_;
  std::vector<Connection>& processes_;
  std::vector<Client> clients_;
};

}  // namespace rkv::control
