// What a peer may not ask of a server.
#include <catch2/catch.hpp>

#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

TEST_CASE("threads beyond the limit are refused with the option that allows more", "[limits]") {
  Scenario scenario = small_scenario();
  CHECK_THAT(refused({.max_threads = 3, .cores = {}}, scenario),
             Catch::Contains("4 workers") && Catch::Contains("--max-threads"));
  scenario.server.workers = 3;
  const LiveServer server({.max_threads = 3, .cores = {}});
  CHECK(serve_one(server, scenario).operations.total() == 300);
}

TEST_CASE("a point longer than the limit is refused, stagger and warm-up counted", "[limits]") {
  Scenario scenario = small_scenario(Transport::tcp, 0);
  scenario.load.duration = 8s;
  scenario.load.warm_up = 1s;
  scenario.load.connect_pause = 1s;
  scenario.load.start_stagger = 400ms;
  CHECK_THAT(refused({.max_duration = 11s, .cores = {}}, scenario),
             Catch::Contains("12 s") && Catch::Contains("--max-duration-s"));
}

TEST_CASE("message buffers beyond the limit are refused", "[limits]") {
  Scenario scenario = small_scenario(Transport::rc);
  scenario.queue_pair.receive_depth = 1024;
  scenario.message.value_capacity_bytes = 4096;
  scenario.value_size.bytes = 64;
  CHECK_THAT(refused({.max_memory_bytes = 1U << 20, .cores = {}}, scenario),
             Catch::Contains("--max-memory-mib"));
}

TEST_CASE("slots beyond the limit are refused", "[limits]") {
  Scenario scenario = small_scenario(Transport::rc);
  scenario.exchange = Exchange::read_write;
  scenario.completion.mode = CompletionMode::busy;
  scenario.load.window = 4096;
  CHECK_THAT(refused({.max_memory_bytes = 3U << 20, .cores = {}}, scenario),
             Catch::Contains("--max-memory-mib"));
}

TEST_CASE("buffers that workers multiply are counted", "[limits]") {
  Scenario scenario = small_scenario(Transport::rc);
  scenario.clients = {1000};
  scenario.load.total_operations = 10'000;
  scenario.completion.mode = CompletionMode::shared;
  scenario.client_completion = CompletionPolicy{};
  scenario.server.workers = 1000;
  // A million lanes of at least 8 responses each.
  CHECK_THAT(refused({.max_memory_bytes = 1U << 30, .cores = {}}, scenario),
             Catch::Contains("--max-memory-mib"));
}

TEST_CASE("regions that offsets can't address are refused whatever is allowed", "[limits]") {
  Scenario scenario = small_scenario(Transport::rc);
  scenario.clients = {4096};
  scenario.load.total_operations = 10'000;
  scenario.queue_pair.receive_depth = 4096;
  scenario.message.value_capacity_bytes = 1024;
  CHECK_THAT(refused({.max_memory_bytes = std::uint64_t{1} << 40, .cores = {}}, scenario),
             Catch::Contains("32 bits"));
}

TEST_CASE("a store that does not hold what is preloaded ends the run with the reason", "[limits]") {
  Scenario scenario = small_scenario();
  scenario.keys.count = 200'000;
  LiveServer server({.max_memory_bytes = 12U << 20, .cores = {}});
  TestClient client(server);
  client->lead(scenario, 1);
  CHECK_THROWS_WITH(client.run_point(scenario, 1), Catch::Contains("preloaded keys"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("core sets of a scenario from the network are not taken over", "[limits]") {
  Scenario scenario = small_scenario();
  scenario.server.cores = {0, 4095};  // pinning a thread there would fail
  LiveServer server;
  CHECK(serve_one(server, scenario).operations.total() == 300);
  server.stop();
  CHECK(server.cores().empty());
}

TEST_CASE("a server's own core set is used", "[limits]") {
  LiveServer server({.cores = {0}});
  CHECK(serve_one(server).operations.total() == 300);
  server.stop();
  CHECK(server.cores() == std::vector<int>{0});
}

TEST_CASE("what the device can't do is refused by the server too", "[limits]") {
  Scenario scenario = small_scenario(Transport::ud);
  scenario.message.value_capacity_bytes = 60'000;
  CHECK_THAT(refused({}, scenario), Catch::Contains("path MTU") && Catch::Contains("/message"));
}

TEST_CASE("a point with more clients than the scenario named is refused", "[limits]") {
  const LiveServer server;
  control::Connection leader = server.dial();
  leader.send(hello_with(small_scenario()));
  CHECK(answer(leader).contains("accepted"));
  leader.send({{"point", GENERATE(0, 5, 100'000)}});
  CHECK_THAT(refusal(leader), Catch::Contains("point"));
  CHECK(serve_one(server).operations.total() == 300);
}
