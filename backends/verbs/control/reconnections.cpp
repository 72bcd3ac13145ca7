#include "backends/verbs/control/reconnections.hpp"

#include <fmt/format.h>

#include "backends/verbs/control/messages.hpp"
#include "core/error.hpp"
#include "core/workload/client_share.hpp"

namespace rkv::control {

Reconnections::Reconnections(ServerLinks* links, std::vector<Connection>& processes, std::uint32_t clients)
    : links_(links), processes_(processes), clients_(clients) {
  const auto parts = static_cast<std::uint32_t>(processes.size());
  for (std::uint32_t part = 0; part < parts; ++part) {
    const ClientShare share = client_share(clients, part, parts);
    for (std::uint32_t i = 0; i < share.count; ++i) clients_[share.first + i].process = part;
  }
}

bool Reconnections::take(std::size_t process, const nlohmann::json& message) {
  if (!message.contains("reconnect")) return false;
  const std::string& peer = processes_[process].peer();
  if (links_ == nullptr) throw Error(peer + " asked for a reconnection, which this scenario has not");
  const nlohmann::json& asked = message["reconnect"];
  const auto client = static_cast<std::uint32_t>(number(asked, "client", 0, clients_.size() - 1));
  if (clients_[client].process != process) {
    throw Error(fmt::format("{} asked to reconnect client {}, which is not one of its own", peer, client));
  }
  if (clients_[client].asked) {
    throw Error(fmt::format("{} asked to reconnect client {} twice", peer, client));
  }
  clients_[client].asked = endpoint_from_json(member(asked, "endpoint"));
  links_->fail(client);
  settle(client);
  return true;
}

void Reconnections::look() {
  if (links_ == nullptr) return;
  for (std::uint32_t client = 0; client < clients_.size(); ++client) settle(client);
}

void Reconnections::settle(std::uint32_t number) {
  Client& client = clients_[number];
  const ServerLinks::State state = links_->state(number);
  if (state == ServerLinks::State::connected) return;
  Connection& process = processes_[client.process];
  if (!client.asked) {
    // Its own queue pair need not have noticed: it may have nothing to send.
    if (!client.told) process.send({{"disconnected", number}});
    client.told = true;
    return;
  }
  if (state == ServerLinks::State::down) {
    const Endpoint server = links_->connect_anew(number, *client.asked);
    process.send({{"reconnected", {{"client", number}, {"endpoint", to_json(server)}}}});
  } else {
    process.send({{"not_reconnected", number}});
  }
  client.asked.reset();
  client.told = state == ServerLinks::State::broken;
}

}  // namespace rkv::control
