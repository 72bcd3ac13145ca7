// Workload verbs over the control connection: whole runs, ends that come early, lies, and what a server
// allows.
#include <catch2/catch.hpp>

#include "core/report/exchange.hpp"
#include "core/run/verbs_load_sides.hpp"
#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

using Verb = VerbsOptions::Operation;

Scenario verbs_scenario(Verb operation, std::uint64_t operations = 300) {
  Scenario scenario;
  scenario.name = "control";
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  scenario.completion.mode = CompletionMode::event;
  scenario.clients = {1, 2, 3, 4, 5};
  scenario.load.total_operations = operations;
  scenario.load.window = 4;
  scenario.verbs.operation = operation;
  scenario.verbs.bytes = atomic_bytes;
  scenario.verbs.memory_bytes = 4096;
  return scenario;
}
Scenario endless_load(Scenario scenario) {
  scenario.load.total_operations = 0;
  scenario.load.duration = 30min;
  return scenario;
}

// As large as a field of an endpoint can be.
constexpr std::uint32_t largest_24_bits = (1U << 24) - 1;
constexpr std::uint32_t largest_32_bits = 0xffffffff;

void require_load(const PointResult& point, const Scenario& scenario, std::uint32_t clients,
                  std::uint32_t server_threads) {
  CHECK(point.partial_reason.empty());
  CHECK(point.operations.total() == scenario.load.total_operations);
  CHECK(point.clients == clients);
  CHECK(point.server.threads == server_threads);
  CHECK(point.server_work.served == (scenario.verbs.sends() ? scenario.load.total_operations : 0));
  REQUIRE(point.per_client.size() == clients);
  for (std::uint32_t c = 0; c < clients; ++c) CHECK(point.per_client[c].client == c);
}

// Shows that the server is alive and well.
void require_well_load(const LiveServer& server) {
  const Scenario scenario = verbs_scenario(Verb::send);
  require_load(serve_one(server, scenario), scenario, 2, 2);
}

}  // namespace

TEST_CASE("a run of every operation, point after point", "[verbs_load]") {
  const auto operation =
      GENERATE(Verb::send, Verb::write, Verb::read, Verb::compare_and_swap, Verb::fetch_and_add);
  Scenario scenario = verbs_scenario(operation);
  scenario.verbs.queue_pairs = GENERATE(1U, 3U);
  scenario.verbs.both_ways = GENERATE(false, true);
  const LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  for (const std::uint32_t clients : {1U, 3U, 2U}) {
    const std::uint32_t receivers = scenario.verbs.sends() ? clients : 0;
    const std::uint32_t own = scenario.verbs.both_ways ? clients : 0;
    const PointResult point = client.run_point(scenario, clients);
    require_load(point, scenario, clients, receivers + own);
    CHECK(point.other_way.has_value() == scenario.verbs.both_ways);
    CHECK(point.client.threads == clients + (scenario.verbs.both_ways ? receivers : 0));
  }
  client->done();
}

TEST_CASE("UC carries SENDs and WRITEs, and the SENDs that came are told", "[verbs_load]") {
  Scenario scenario = verbs_scenario(GENERATE(Verb::send, Verb::write));
  scenario.transport = Transport::uc;
  scenario.queue_pair.receive_depth = 400;  // so that none is lost
  const LiveServer server;
  require_load(serve_one(server, scenario), scenario, 2, scenario.verbs.sends() ? 2 : 0);
}

TEST_CASE("SENDs over UC that find no receive are counted and not served", "[verbs_load]") {
  Scenario scenario = verbs_scenario(Verb::send, 3000);
  scenario.transport = Transport::uc;
  scenario.load.window = 64;
  scenario.queue_pair.receive_depth = 1;
  scenario.queue_pair.receive_batch = 1;
  const LiveServer server;
  const PointResult point = serve_one(server, scenario);
  CHECK(point.partial_reason.empty());
  CHECK(point.operations.total() == 3000);
  CHECK(point.server_work.served > 0);
  CHECK(point.server_work.served < 3000);
}

TEST_CASE("clients of several processes, which share queue pairs with those of their own", "[verbs_load]") {
  Scenario scenario = verbs_scenario(GENERATE(Verb::send, Verb::read));
  scenario.completion.mode = CompletionMode::busy;
  scenario.queue_pair.signal_interval = 1;
  scenario.verbs.clients_a_queue_pair = GENERATE(1U, 2U);
  scenario.server.workers = 2;
  const LiveServer server;
  Follower one(server);
  Follower two(server);
  TestClient leader(server);
  leader->lead(scenario, 3);
  const std::uint32_t receivers = scenario.verbs.sends() ? 2 : 0;
  require_load(leader.run_point(scenario, 5), scenario, 5, receivers);
  require_load(leader.run_point(scenario, 3), scenario, 3, receivers);
  leader->done();
  for (Follower* follower : {&one, &two}) {
    follower->end();
    CHECK(follower->failure().empty());
    REQUIRE(follower->points().size() == 2);
    require_load(follower->points()[0], scenario, 5, receivers);
  }
}

TEST_CASE("an interrupted client keeps what it measured, with the server's count", "[verbs_load]") {
  Scenario scenario = endless_load(verbs_scenario(GENERATE(Verb::send, Verb::read)));
  scenario.verbs.both_ways = GENERATE(false, true);
  const LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  const PointResult point = client.run_point_in_which([&] { client.interrupt(); }, scenario);
  CHECK(point.partial_reason == "interrupted");
  CHECK(point.operations.total() >= 20);
  if (scenario.verbs.sends()) CHECK(point.server_work.served >= point.operations.total());
  client->done();
  require_well_load(server);
}

TEST_CASE("a server of plain verbs that is stopped leaves a partial result with the reason", "[verbs_load]") {
  Scenario scenario = endless_load(verbs_scenario(GENERATE(Verb::send, Verb::write)));
  scenario.transport = GENERATE(Transport::rc, Transport::uc);
  scenario.verbs.both_ways = GENERATE(false, true);
  LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  const PointResult point = client.run_point_in_which([&] { server.stop(); }, scenario);
  CHECK_THAT(point.partial_reason, Catch::Contains("the server was stopped"));
  CHECK(point.operations.total() >= 18);
}

TEST_CASE("a peer of plain verbs that dies at any step leaves a server that serves", "[verbs_load]") {
  Scenario scenario = endless_load(verbs_scenario(GENERATE(Verb::send, Verb::read)));
  scenario.verbs.both_ways = true;
  const LiveServer server;
  SECTION("with its clients not set up") {
    offered(server, scenario);
  }
  SECTION("when they have started") {
    auto [leader, offers] = offered(server, scenario);
    TestPorts ports;
    VerbsLoadClients clients(ports.port(scenario), scenario, {.first = 0, .count = 2, .of = 2});
    nlohmann::json endpoints = nlohmann::json::array();
    for (std::uint32_t c = 0; c < 2; ++c) {
      clients.connect(c, control::offer_from_json(offers[c]), never);
      endpoints.push_back(control::to_json(clients.endpoint(c)));
    }
    leader.send({{"ready", std::move(endpoints)}});
    REQUIRE(answer(leader).contains("start"));
  }
  require_well_load(server);
}

TEST_CASE("endpoints of plain verbs that are not as said end the run with the reason", "[verbs_load]") {
  Scenario scenario = verbs_scenario(Verb::read);
  scenario.verbs.queue_pairs = 2;
  scenario.verbs.both_ways = true;
  const LiveServer server;
  control::Connection leader = offered(server, scenario).leader;
  nlohmann::json endpoint = control::to_json(Endpoint{.path_mtu_bytes = 1024});
  endpoint["more"] = {{{"queue_pair", 1}, {"packet_sequence", 1}}};
  nlohmann::json ready = nlohmann::json::array({endpoint, endpoint});
  std::string says;
  SECTION("one for two clients") {
    ready.erase(1);
    says = "list of 2";
  }
  SECTION("fewer queue pairs") {
    ready[1]["more"] = nlohmann::json::array();
    says = "1 queue pairs";
  }
  SECTION("more queue pairs") {
    ready[0]["more"].push_back({{"queue_pair", 1}, {"packet_sequence", 1}});
    says = "3 queue pairs";
  }
  SECTION("no memory") {
    ready[1].erase("memory");
    says = "memory";
  }
  SECTION("memory with a key that is none") {
    ready[1]["memory"]["key"] = std::uint64_t{1} << 32;
    says = "key";
  }
  leader.send({{"ready", std::move(ready)}});
  CHECK_THAT(refusal(leader), Catch::Contains(says));
  require_well_load(server);
}

TEST_CASE("memory that is not there is the peer's own loss", "[verbs_load]") {
  Scenario scenario = verbs_scenario(Verb::read);
  scenario.verbs.both_ways = true;
  const LiveServer server;
  auto [leader, offers] = offered(server, scenario, 1);
  TestPorts ports;
  VerbsLoadClients clients(ports.port(scenario), scenario, {.first = 0, .count = 1, .of = 1});
  clients.connect(0, control::offer_from_json(offers[0]), never);
  nlohmann::json endpoint = control::to_json(clients.endpoint(0));
  endpoint["memory"] = {{"address", ~std::uint64_t{0}}, {"key", largest_32_bits}};
  leader.send({{"ready", nlohmann::json::array({endpoint})}});
  REQUIRE(answer(leader).contains("start"));
  PointResult nothing;
  nothing.clients = 1;
  leader.send({{"result", to_json(nothing)}});
  CHECK(answer(leader).contains("result"));
  leader.send({{"done", true}});
  require_well_load(server);
}

TEST_CASE("nobody of plain verbs is connected anew", "[verbs_load]") {
  const Scenario scenario = verbs_scenario(Verb::read);
  const LiveServer server;
  control::Connection leader = offered(server, scenario).leader;
  TestPorts ports;
  const VerbsLoadClients clients(ports.port(scenario), scenario, {.first = 0, .count = 2, .of = 2});
  const nlohmann::json endpoint = control::to_json(clients.endpoint(0));
  leader.send({{"ready", nlohmann::json::array({endpoint, endpoint})}});
  REQUIRE(answer(leader).contains("start"));
  leader.send({{"reconnect", {{"client", 0}, {"endpoint", endpoint}}}});
  CHECK_THAT(refusal(leader), Catch::Contains("reconnection"));
  require_well_load(server);
}

TEST_CASE("what plain verbs ask of a server is limited", "[verbs_load]") {
  Scenario scenario = verbs_scenario(Verb::send);
  SECTION("threads that receive") {
    CHECK_THAT(refused({.max_threads = 4}, scenario), Catch::Contains("5 threads") &&
                                                          Catch::Contains("0 clients") &&
                                                          Catch::Contains("--max-threads"));
  }
  SECTION("threads of groups, process by process") {
    scenario.completion.mode = CompletionMode::busy;
    scenario.queue_pair.signal_interval = 1;
    scenario.verbs.clients_a_queue_pair = 5;
    CHECK_THAT(refused({.max_threads = 2}, scenario, 3), Catch::Contains("3 threads"));
  }
  SECTION("clients on its side") {
    scenario.server.workers = 1;
    scenario.verbs.both_ways = true;
    CHECK_THAT(refused({.max_threads = 5}, scenario),
               Catch::Contains("1 threads") && Catch::Contains("5 clients"));
  }
  SECTION("memory that it exposes") {
    scenario = verbs_scenario(Verb::write);
    scenario.verbs.memory_bytes = 8U << 20;
    CHECK_THAT(refused({.max_memory_bytes = 8U << 20}, scenario), Catch::Contains("--max-memory-mib"));
  }
  SECTION("memory that it receives into") {
    scenario.verbs.bytes = 1U << 20;
    scenario.queue_pair.receive_depth = 4;
    CHECK_THAT(refused({.max_memory_bytes = 19U << 20}, scenario), Catch::Contains("--max-memory-mib"));
  }
  SECTION("memory of its own clients") {
    scenario = verbs_scenario(Verb::read);
    scenario.verbs.both_ways = true;
    scenario.verbs.bytes = 1U << 20;
    scenario.verbs.memory_bytes = 1U << 20;
    CHECK_THAT(refused({.max_memory_bytes = 20U << 20}, scenario), Catch::Contains("--max-memory-mib"));
  }
  SECTION("memory of its own clients, whose operations begin anywhere in a line") {
    scenario = verbs_scenario(Verb::read);
    scenario.verbs.both_ways = true;
    scenario.verbs.bytes = 64;
    scenario.verbs.memory_bytes = 64;
    scenario.verbs.alignment_bytes = 1;
    scenario.load.window = 1024;
    scenario.queue_pair.signal_interval = 1;
    // 5 x 1,026 entries of queues, 5 x 1,024 slots of two lines: 983,680 bytes, with slots of one 656,000.
    CHECK_THAT(refused({.max_memory_bytes = 960'000}, scenario), Catch::Contains("--max-memory-mib"));
  }
  SECTION("queues") {
    scenario = verbs_scenario(Verb::read);
    scenario.load.window = 1024;
    scenario.verbs.queue_pairs = 64;
    CHECK_THAT(refused({.max_memory_bytes = 16U << 20}, scenario), Catch::Contains("--max-memory-mib"));
  }
  SECTION("queue pairs beyond what a message names") {
    scenario.verbs.queue_pairs = 65536;
    scenario.clients = {65536};
    scenario.load.total_operations = 65536;
    CHECK_THAT(refused({.max_memory_bytes = std::uint64_t{1} << 60}, scenario),
               Catch::Contains("4294967296 queue pairs"));
  }
  SECTION("time") {
    scenario = endless_load(scenario);
    CHECK_THAT(refused({.max_duration = 100s}, scenario), Catch::Contains("--max-duration-s"));
  }
}

TEST_CASE("a server's clients run on cores of its own", "[verbs_load]") {
  Scenario scenario = verbs_scenario(Verb::read);
  scenario.verbs.both_ways = true;
  const LiveServer server;
  TestClient client(server);
  Scenario said = scenario;
  said.client.cores = {4095};  // pinning a thread there would fail
  client->lead(said, 1);
  require_load(client.run_point(scenario, 2), scenario, 2, 2);
  client->done();
}

TEST_CASE("offers take no more of a message than is reckoned with", "[verbs_load]") {
  constexpr RemoteMemory memory{.address = ~std::uint64_t{0}, .key = largest_32_bits};
  Endpoint endpoint{.queue_pair = largest_24_bits,
                    .packet_sequence = largest_24_bits,
                    .qkey = largest_32_bits,
                    .lid = 0xffff,
                    .path_mtu_bytes = 65536,
                    .datagram_queue_pair = largest_24_bits,
                    .datagram_qkey = largest_32_bits,
                    .requests = memory,
                    .responses = memory,
                    .items = memory,
                    .memory = memory};
  endpoint.gid.fill(0xff);
  const std::uint64_t connections = GENERATE(1U, 50U);
  const std::uint64_t queue_pairs = GENERATE(1U, 40U);
  endpoint.more.assign(queue_pairs - 1, {.queue_pair = largest_24_bits, .packet_sequence = largest_24_bits});
  const ServerOffer offer{.endpoint = endpoint, .address = {}, .token = 0};
  const nlohmann::json offers(connections, control::to_json(offer));
  const nlohmann::json message{{"point", {{"clients", 65536}, {"offers", offers}}}};
  CHECK(message.dump().size() <= control::largest_offers_bytes(connections, connections * queue_pairs));
}
