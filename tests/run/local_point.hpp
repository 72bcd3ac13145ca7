// A point in one process, its two sides connected directly: what a backend does over its control connection.
#pragma once

#include <functional>

#include "core/run/client_point.hpp"
#include "core/run/server_point.hpp"
#include "core/run/server_store.hpp"
#include "tests/port/port_fixture.hpp"

namespace rkv::test {

struct LocalPoint {
  PointResult result;
  ServerResult server;
};

inline std::unique_ptr<Store> store_for(const Port& server, const Scenario& scenario,
                                        std::uint32_t clients = 1) {
  constexpr std::uint64_t store_bytes = std::uint64_t{256} << 20;
  return make_server_store(server, scenario, clients, store_bytes);
}

// Looks every millisecond of the port's time until it holds.
inline void sleep_until_holds(const Port& port, const std::function<bool()>& holds) {
  const auto stop = port.runtime->make_stop_flag();
  while (!holds()) port.runtime->sleep_until(port.runtime->now() + std::chrono::milliseconds(1), *stop);
}

// Runs `clients` clients of the scenario to their end. `meanwhile`, where given, is called when they have
// started, in the caller's thread.
inline LocalPoint run_local(const PortPair& ports, const Scenario& scenario, std::uint32_t clients,
                            const std::function<void(ClientPoint&, ServerPoint&)>& meanwhile = {}) {
  using namespace std::chrono_literals;
  constexpr std::uint64_t token = 0x1122334455667788;
  ServerPoint server(ports.server, scenario, clients, token, store_for(ports.server, scenario, clients));
  ClientPoint client(ports.client, scenario, {.first = 0, .count = clients, .of = clients});
  const Instant deadline = ports.client.runtime->now() + 30s;
  for (std::uint32_t c = 0; c < clients; ++c) {
    client.connect(c, server.offer(c), deadline);
    if (scenario.transport != Transport::tcp) server.connect(c, client.endpoint(c));
  }
  if (scenario.transport == Transport::tcp) server.accept_streams(deadline);
  server.start();
  client.start(ports.client.runtime->now());
  if (meanwhile) meanwhile(client, server);
  LocalPoint point;
  point.result = client.collect(Instant{});
  point.server = server.collect();
  return point;
}

// A small scenario that checks every response. No time but its own time-outs bounds it.
inline Scenario checked_scenario(Transport transport, CompletionMode mode, std::uint64_t operations) {
  Scenario scenario;
  scenario.name = "test";
  scenario.transport = transport;
  scenario.exchange = transport == Transport::tcp ? Exchange::socket_socket : Exchange::send_send;
  scenario.completion.mode = mode;
  scenario.load.total_operations = operations;
  scenario.operations = {.get = 0.5, .set = 0.3, .del = 0.1, .ping = 0.1};
  scenario.keys.scope = KeyOptions::Scope::per_client;
  scenario.keys.count = 50;
  scenario.key_size.bytes = 24;
  scenario.value_size.bytes = 64;
  scenario.check = true;
  return scenario;
}

}  // namespace rkv::test
