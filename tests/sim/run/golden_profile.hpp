// A profile in which every cost is another number of nanoseconds, so that one that is missing or counted
// twice shows in a sum, and one client's scenario on it.
#pragma once

#include <utility>

#include "core/scenario/scenario.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {

// What a byte takes: powers of two, which a double holds exactly.
inline constexpr Ps link_byte = 2 * ns;
inline constexpr Ps pcie_byte = 4 * ns;
inline constexpr Ps memory_byte = 8 * ns;
inline constexpr Ps soft_byte = 16 * ns;
inline constexpr Ps tcp_byte = 32 * ns;

inline HostProfile golden_host(Ps first) {
  HostProfile host = free_host(4);
  // Ascending, none the double of another, none shared by the two hosts.
  Ps cost = first;
  const auto next = [&cost] { return std::exchange(cost, cost + 34 * ns); };
  SchedulerProfile& os = host.scheduler;
  for (Ps* time : {&os.switch_cost, &os.wakeup_latency, &os.wake_cost, &os.syscall, &os.interrupt}) {
    *time = next();
  }
  host.memory.walk = {{1, next()}};
  host.memory.store_operation = next();
  host.memory.copy_ns_per_byte = static_cast<double>(memory_byte) / ps_in_ns;
  ProgramProfile& program = host.program;
  for (Ps* time : {&program.client_operation, &program.client_response, &program.server_operation,
                   &program.clock_read}) {
    *time = next();
  }
  for (VerbsProfile* verbs : {&host.rc, &host.uc, &host.ud}) {
    for (Ps* time : {&verbs->post_send, &verbs->post_receive, &verbs->poll, &verbs->empty_poll, &verbs->arm,
                     &verbs->event}) {
      *time = next();
    }
  }
  return host;
}

inline Profile golden_profile() {
  Profile profile;
  profile.server = golden_host(1009 * ns);
  profile.client = golden_host(2003 * ns);
  NicProfile& nic = profile.nic;
  nic.rc = {.send = 307 * ns,
            .receive = 311 * ns,
            .ack = 313 * ns,
            .take_ack = 313 * ns,
            .header_bytes = 30,
            .ack_bytes = 34};
  nic.uc = {.send = 317 * ns, .receive = 331 * ns, .ack = 0, .header_bytes = 31, .ack_bytes = 0};
  nic.ud = {.send = 337 * ns, .receive = 347 * ns, .ack = 0, .header_bytes = 78, .ack_bytes = 0};
  nic.pcie_latency = 353 * ns;
  nic.pcie_bandwidth_bytes_per_ns = static_cast<double>(ps_in_ns) / pcie_byte;
  nic.doorbell = 359 * ns;
  nic.receive_fetch = 367 * ns;
  nic.receive_fetch_an_sge = 373 * ns;
  nic.interrupt_delay = 379 * ns;
  nic.soft_transfer = 383 * ns;
  nic.soft_copy_ns_per_byte = static_cast<double>(soft_byte) / ps_in_ns;
  nic.soft_wake = 389 * ns;
  profile.network.link_latency = 397 * ns;
  profile.network.link_bandwidth_gbit_s = 8.0 * static_cast<double>(ps_in_ns) / link_byte;
  profile.network.switch_latency = 0;
  profile.tcp = {.send = 401 * ns,
                 .receive = 409 * ns,
                 .empty_receive = 419 * ns,
                 .select = 421 * ns,
                 .ns_per_byte = static_cast<double>(tcp_byte) / ps_in_ns,
                 .soft_interrupt = 431 * ns,
                 .latency = 433 * ns,
                 .header_bytes = 66};
  return profile;
}

inline Profile golden_one_host() {
  Profile profile = golden_profile();
  profile.nic.kind = NicProfile::Kind::soft;
  profile.network.one_host = true;
  return profile;
}

// GETs of keys that are in a chain of three, by one client, one at a time.
inline constexpr Ps key_bytes = 24;
inline constexpr Ps value_bytes = 64;
inline constexpr Ps entries_walked = 3;  // to the first key, which is the oldest
inline constexpr Ps request_message = 32 + key_bytes;
inline constexpr Ps response_message = 16 + value_bytes;

inline Scenario golden_scenario(Transport transport, CompletionMode mode) {
  Scenario scenario;
  scenario.transport = transport;
  scenario.exchange = transport == Transport::tcp ? Exchange::socket_socket : Exchange::send_send;
  scenario.completion.mode = mode;
  scenario.load.total_operations = 1;
  scenario.operations = {.get = 1, .set = 0};
  scenario.keys.distribution = KeyOptions::Distribution::sequential;
  scenario.keys.count = 3;
  scenario.key_size.bytes = key_bytes;
  scenario.value_size.bytes = value_bytes;
  scenario.store = {.kind = StoreOptions::Kind::chained, .buckets = 1};
  scenario.trace = true;
  return scenario;
}

}  // namespace rkv::sim::test
