// What a device can't do is refused with the field that asks for it.
#include "core/run/device_checks.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "core/error.hpp"

namespace rkv {
namespace {

constexpr DeviceLimits limits{.inline_bytes = 64,
                              .max_sge = 2,
                              .queue_depth = 100,
                              .completion_queue_depth = 120,
                              .path_mtu_bytes = 1024};

// What is refused, or nothing.
std::string refusal(const Scenario& scenario, const DeviceLimits& device = limits) {
  try {
    check_against_device(scenario, "card0", device, "file.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

Scenario verbs_load() {
  Scenario scenario;
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  return scenario;
}

TEST_CASE("the queues of a client of workload verbs must fit the device", "[device]") {
  Scenario scenario = verbs_load();
  scenario.load.window = 98;
  scenario.queue_pair.signal_interval = 1;
  scenario.verbs.queue_pairs = 22;
  CHECK(refusal(scenario).empty());

  scenario.load.window = 99;
  CHECK_THAT(refusal(scenario), Catch::StartsWith("file.json: the device card0") &&
                                    Catch::Contains("\n  /load/window: ") &&
                                    Catch::Contains("101 requests") && Catch::Contains("121 completions"));
  scenario.load.window = 10;
  scenario.queue_pair.signal_interval = 46;
  CHECK_THAT(refusal(scenario), Catch::Contains("/queue_pair/signal_interval: ") &&
                                    Catch::Contains("102 requests") && !Catch::Contains("completions"));
  scenario.queue_pair.signal_interval = 1;
  scenario.verbs.queue_pairs = 111;
  CHECK_THAT(refusal(scenario),
             Catch::Contains("/verbs/queue_pairs: ") && Catch::Contains("121 completions"));
}

TEST_CASE("a shared receive queue must be there and fit the device", "[device]") {
  Scenario scenario;
  scenario.transport = Transport::rc;
  scenario.clients = {2, 6};
  scenario.queue_pair.shared_receive_queue = true;
  CHECK_THAT(refusal(scenario),
             Catch::Contains("/queue_pair/shared_receive_queue: a shared receive queue, which it has not"));
  DeviceLimits sharing = limits;
  sharing.shared_receive_depth = 200;
  CHECK(refusal(scenario, sharing).empty());
  scenario.queue_pair.receive_depth = 21;
  CHECK_THAT(refusal(scenario, sharing), Catch::Contains("/queue_pair/receive_depth: 126 receives") &&
                                             Catch::Contains("120 is the device's most"));
  scenario.queue_pair.receive_scope = QueuePairOptions::ReceiveScope::in_all;
  CHECK(refusal(scenario, sharing).empty());
}

TEST_CASE("SENDs need receives that the device has, atomic operations a device that has them", "[device]") {
  Scenario scenario = verbs_load();
  scenario.verbs.operation = VerbsOptions::Operation::send;
  scenario.queue_pair.receive_depth = 101;
  CHECK_THAT(refusal(scenario), Catch::Contains("/queue_pair/receive_depth: 101 receives on one"));
  scenario.queue_pair.receive_depth = 100;
  scenario.verbs.queue_pairs = 2;
  CHECK_THAT(refusal(scenario), Catch::Contains("2 queue pairs with 100 receives each take 200 completions"));
  scenario.verbs.operation = VerbsOptions::Operation::fetch_and_add;
  CHECK_THAT(refusal(scenario), Catch::Contains("/verbs/operation: an atomic operation"));
}

TEST_CASE("receives that tell a worker of its clients' WRITEs must fit one completion queue", "[device]") {
  Scenario scenario;
  scenario.transport = Transport::rc;
  scenario.exchange = Exchange::write_write;
  scenario.clients = {4};
  scenario.server.workers = 2;
  scenario.queue_pair.per_client = 2;
  scenario.load.window = 2;
  scenario.queue_pair.receive_depth = 31;
  CHECK(refusal(scenario).empty());  // no completion tells of them
  scenario.slots.immediate = true;
  CHECK_THAT(refusal(scenario), Catch::Contains("/queue_pair/receive_depth: a worker's 2 clients take 124 "
                                                "receives in one completion queue, and 120"));
  scenario.queue_pair.receive_depth = 30;
  CHECK(refusal(scenario).empty());
}

TEST_CASE("work requests beyond the device are refused in every exchange", "[device]") {
  Scenario scenario = verbs_load();
  scenario.workload = GENERATE(Workload::verbs, Workload::store);
  scenario.queue_pair.inline_bytes = 65;
  scenario.queue_pair.max_sge = 3;
  CHECK_THAT(refusal(scenario),
             Catch::Contains("/queue_pair/inline_bytes: ") && Catch::Contains("/queue_pair/max_sge: "));
}

TEST_CASE("items lie where 32 bits reach", "[device]") {
  Scenario scenario = verbs_load();
  scenario.workload = Workload::store;
  scenario.exchange = Exchange::write_read;
  scenario.load.window = 1;
  scenario.store.kind = StoreOptions::Kind::items;
  scenario.keys.count = 40'000'000;
  scenario.key_size.bytes = 16;
  scenario.value_size.bytes = 64;  // 112 bytes a place
  CHECK_THAT(refusal(scenario), Catch::Contains("/keys/count: items of 4272 MiB"));
  scenario.keys.count = 38'000'000;
  CHECK(refusal(scenario).empty());
  scenario.keys.scope = KeyOptions::Scope::per_client;
  scenario.clients = {1, 2};
  CHECK_THAT(refusal(scenario), Catch::Contains("/keys/count: "));
  scenario.keys.count = ~std::uint64_t{0};
  CHECK_THAT(refusal(scenario), Catch::Contains("/keys/count: "));
}

TEST_CASE("messages and receives are those of a service", "[device]") {
  Scenario scenario = verbs_load();
  scenario.queue_pair.receive_depth = 101;
  CHECK(refusal(scenario).empty());
  scenario.workload = Workload::store;
  CHECK_THAT(refusal(scenario), Catch::Contains("/queue_pair/receive_depth: 101 receives"));
  scenario.queue_pair.receive_depth = 1;
  scenario.transport = Transport::ud;
  scenario.message.value_capacity_bytes = 2000;
  CHECK_THAT(refusal(scenario), Catch::Contains("/message: "));
}

}  // namespace
}  // namespace rkv
