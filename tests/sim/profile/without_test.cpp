#include "backends/sim/profile/without.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "core/error.hpp"
#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

// One in which every mechanism costs something.
Profile costly() {
  Profile profile;
  profile.nic = round_nic();
  profile.nic.qp_cache = {.entries = 1, .miss = 100 * ns};
  profile.nic.stalls_for_contexts = true;
  profile.nic.pass_each_packet = true;
  profile.nic.request_cache = {.entries = 1, .miss = 200 * ns};
  profile.nic.translation_cache = {.bytes = 64, .bytes_an_entry = 64, .miss = 300 * ns};
  profile.nic.shared_doorbells = 8;
  profile.nic.reads_outstanding = 16;
  profile.nic.receive_record = true;
  profile.server.cpu.turbo_ghz = profile.client.cpu.turbo_ghz = {3};
  profile.server.rc.lock_hand_over = profile.client.rc.lock_hand_over = 10 * ns;
  profile.nic.interrupt_delay = 5 * ns;
  profile.network.loss = profile.network.duplicate = profile.network.reorder = 0.5;
  profile.server.program.client_serial = profile.client.program.client_serial = 10 * ns;
  profile.server.scheduler.wake_to_interrupt = profile.client.scheduler.wake_to_interrupt = true;
  profile.server.scheduler.numa_balancing = profile.client.scheduler.numa_balancing = 10 * ns;
  profile.server.memory.kept = profile.client.memory.kept = 10 * ns;
  return profile;
}

using Change = std::function<void(Profile&)>;

Change on_hosts(const std::function<void(HostProfile&)>& change) {
  return [change](Profile& profile) {
    change(profile.server);
    change(profile.client);
  };
}

Change on_verbs(const std::function<void(VerbsProfile&)>& change) {
  return on_hosts([change](HostProfile& host) {
    change(host.rc);
    change(host.uc);
    change(host.ud);
  });
}

// What each is expected to change, and nothing else.
const std::map<std::string, Change>& expected() {
  static const std::map<std::string, Change> changes{
      {"turbo", on_hosts([](HostProfile& host) { host.cpu.turbo_ghz.clear(); })},
      {"client_serial", on_hosts([](HostProfile& host) { host.program.client_serial = 0; })},
      {"clock_read", on_hosts([](HostProfile& host) { host.program.clock_read = 0; })},
      {"format_key", on_hosts([](HostProfile& host) { host.memory.format_key = 0; })},
      {"post_send", on_verbs([](VerbsProfile& verbs) { verbs.post_send = 0; })},
      {"post_receive", on_verbs([](VerbsProfile& verbs) { verbs.post_receive = 0; })},
      {"poll", on_verbs([](VerbsProfile& verbs) { verbs.poll = 0; })},
      {"slot_look", on_hosts([](HostProfile& host) { host.memory.slot_look = 0; })},
      {"slot_hit", on_hosts([](HostProfile& host) { host.memory.slot_hit = 0; })},
      {"link",
       [](Profile& profile) {
         profile.network.link_latency = 0;
         profile.network.switch_latency = 1;
       }},
      {"doorbell", [](Profile& profile) { profile.nic.doorbell = 0; }},
      {"doorbell_lock",
       [](Profile& profile) {
         profile.nic.shared_doorbells = 0;
         profile.nic.doorbell_lock_hand_over = 0;
       }},
      {"queue_lock", on_hosts([](HostProfile& host) { host.rc.lock_hand_over = 0; })},
      {"pcie",
       [](Profile& profile) {
         profile.nic.pcie_latency = 0;
         profile.nic.pcie_bandwidth_bytes_per_ns = 10'000;
       }},
      {"reads_outstanding", [](Profile& profile) { profile.nic.reads_outstanding = 0; }},
      {"qp_cache", [](Profile& profile) { profile.nic.qp_cache.entries = 0; }},
      {"stalls_for_contexts", [](Profile& profile) { profile.nic.stalls_for_contexts = false; }},
      {"pass_each_packet", [](Profile& profile) { profile.nic.pass_each_packet = false; }},
      {"request_cache", [](Profile& profile) { profile.nic.request_cache.entries = 0; }},
      {"translation_cache", [](Profile& profile) { profile.nic.translation_cache.bytes = 0; }},
      {"receive_fetch",
       [](Profile& profile) {
         profile.nic.receive_record = false;
         profile.nic.receive_fetch = 0;
         profile.nic.receive_fetch_an_sge = 0;
       }},
      {"ack",
       [](Profile& profile) {
         profile.nic.rc.ack = 0;
         profile.nic.rc.take_ack = 0;
         profile.nic.rc.ack_bytes = 0;
       }},
      {"loss",
       [](Profile& profile) {
         profile.network.loss = 0;
         profile.network.duplicate = 0;
         profile.network.reorder = 0;
       }},
      {"interrupt",
       [](Profile& profile) {
         profile.server.scheduler.interrupt = 0;
         profile.client.scheduler.interrupt = 0;
         profile.nic.interrupt_delay = 0;
       }},
      {"soft_wake", [](Profile& profile) { profile.nic.soft_wake = profile.nic.soft_event = 0; }},
      {"wake_cost", on_hosts([](HostProfile& host) { host.scheduler.wake_cost = 0; })},
      {"wakeup_latency", on_hosts([](HostProfile& host) { host.scheduler.wakeup_latency = 0; })},
      {"switch_cost", on_hosts([](HostProfile& host) { host.scheduler.switch_cost = 0; })},
      {"migration", on_hosts([](HostProfile& host) { host.scheduler.migration_cost = 0; })},
      {"syscall", on_hosts([](HostProfile& host) { host.scheduler.syscall = 0; })},
      {"smt", on_hosts([](HostProfile& host) { host.cpu.smt_throughput = 1; })},
      {"memory_bandwidth", on_hosts([](HostProfile& host) { host.memory.cache_bytes = 1ULL << 40; })},
      {"neighbours", on_hosts([](HostProfile& host) { host.memory.kept = 0; })},
      {"remote_socket", on_hosts([](HostProfile& host) { host.memory.remote_socket_factor = 1; })},
      {"lock_hand_over", on_hosts([](HostProfile& host) { host.memory.lock_hand_over = 0; })},
      {"wake_to_interrupt", on_hosts([](HostProfile& host) { host.scheduler.wake_to_interrupt = false; })},
      {"numa_balancing", on_hosts([](HostProfile& host) { host.scheduler.numa_balancing = 0; })},
  };
  return changes;
}

TEST_CASE("switching a mechanism off changes its own fields only", "[without]") {
  std::set<std::string> names;
  for (const Mechanism& mechanism : mechanisms()) {
    INFO(mechanism.name);
    CHECK_FALSE(mechanism.description.empty());
    CHECK(names.insert(std::string(mechanism.name)).second);
    const auto change = expected().find(std::string(mechanism.name));
    REQUIRE(change != expected().end());
    Profile by_name = costly();
    switch_off(by_name, mechanism.name);
    CHECK_FALSE(by_name == costly());
    Profile by_hand = costly();
    change->second(by_hand);
    CHECK(by_name == by_hand);
    switch_off(by_name, mechanism.name);
    CHECK(by_name == by_hand);
  }
  CHECK(names.size() == expected().size());
}

TEST_CASE("a mechanism that does not exist is refused with those that do", "[without]") {
  Profile profile = costly();
  CHECK_THROWS_AS(switch_off(profile, "qp_cash"), InputError);
  CHECK_THROWS_WITH(switch_off(profile, "qp_cash"), Catch::Contains("qp_cash") &&
                                                        Catch::Contains("qp_cache") &&
                                                        Catch::Contains("lock_hand_over"));
  CHECK(profile == costly());
}

// Two RC messages, the second on a fresh queue pair, not inlined: everything of the card has a part in it.
SpentTimes spent(std::string_view without) {
  Profile profile = costly();
  profile.network = round_network();
  if (!without.empty()) switch_off(profile, without);
  Rnics cards(profile.nic, profile.network);
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto ends = cards.link(Transport::rc);
    REQUIRE(cards.receive(ends, id) == 0);
    REQUIRE(cards.send(0, ends, "all of it", true, false, id) == 0);
  }
  cards.run();
  REQUIRE(cards.receives.seen.size() == 3);
  REQUIRE(cards.sends.seen.size() == 3);
  return cards.world.spent();
}

TEST_CASE("what is switched off costs nothing", "[without]") {
  const SpentTimes all = spent("");
  CHECK(all.of(Spent::context_miss) > 0);
  CHECK(all.of(Spent::translation_miss) > 0);
  CHECK(all.of(Spent::doorbell) > 0);
  CHECK(spent("qp_cache").of(Spent::context_miss) == 0);
  CHECK(spent("translation_cache").of(Spent::translation_miss) == 0);
  CHECK(spent("doorbell").of(Spent::doorbell) == 0);
  // Each message: two acknowledgements, a receive that the card has to find.
  CHECK(all.of(Spent::nic) - spent("ack").of(Spent::nic) == 3 * 2 * 30 * ns);
  CHECK(all.of(Spent::nic) - spent("receive_fetch").of(Spent::nic) == 3 * (25 + 4 * 200) * ns);
  // Each message: the doorbell's latency, round trips for the request, the payload and the receive (two), the
  // write, the completion; 9 bytes each way, 64 of the request and of the completion, at 1 byte/ns, and all
  // but nothing of them left.
  const Ps pcie = all.of(Spent::nic) - spent("pcie").of(Spent::nic);
  CHECK(pcie <= 3 * (11 * 200 + 9 + 9 + 64 + 64) * ns);
  CHECK(pcie > 3 * (11 * 200 + 9 + 9 + 64 + 64) * ns - ns);
}

}  // namespace
}  // namespace rkv::sim::test
