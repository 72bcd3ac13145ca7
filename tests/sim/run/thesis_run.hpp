// A short run of the thesis's workload, as is sampled.
#pragma once

#include <chrono>
#include <cstdint>

#include "backends/sim/profile/profile.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim::test {

// Chains grow to some 190 entries, which is most of an operation's time in the end.
inline Scenario thesis_run(Transport transport, CompletionMode mode) {
  Scenario scenario;
  scenario.name = "thesis";
  scenario.transport = transport;
  scenario.exchange = transport == Transport::tcp ? Exchange::socket_socket : Exchange::send_send;
  scenario.completion.mode = mode;
  scenario.load.total_operations = 100'000;
  scenario.load.connect_pause = std::chrono::milliseconds(1);
  scenario.load.start_stagger = std::chrono::milliseconds(15);
  scenario.keys.distribution = KeyOptions::Distribution::thesis;
  scenario.keys.scope = KeyOptions::Scope::per_client;
  scenario.message = {
      .format = MessageOptions::Format::fixed, .key_capacity_bytes = 64, .value_capacity_bytes = 256};
  scenario.store = {.kind = StoreOptions::Kind::chained, .buckets = 32};
  scenario.client_overhead.kind = ClientOverhead::Kind::thesis;
  return scenario;
}

// Two hosts of as many CPUs each.
inline Profile with_cpus(std::uint32_t sockets, std::uint32_t cores_per_socket, std::uint32_t smt_ways) {
  Profile profile;
  for (HostProfile* host : {&profile.server, &profile.client}) {
    host->cpu.sockets = sockets;
    host->cpu.cores_per_socket = cores_per_socket;
    host->cpu.smt_ways = smt_ways;
  }
  return profile;
}

}  // namespace rkv::sim::test
