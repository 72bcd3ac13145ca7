// Who dies, is stopped or speaks out of turn at each step of a run; the others keep what they have, and the
// server serves the next.
#include <catch2/catch.hpp>

#include "core/run/client_point.hpp"
#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

TEST_CASE("a client that dies at any step leaves a server that serves", "[dialogue]") {
  const Scenario scenario = small_scenario(GENERATE(Transport::tcp, Transport::uc));
  const LiveServer server;
  SECTION("before it asks for a point") {
    control::Connection leader = server.dial();
    leader.send(hello_with(scenario));
    CHECK(answer(leader).contains("accepted"));
  }
  SECTION("with its clients not set up") {
    offered(server, scenario);
  }
  SECTION("in the middle of a message") {
    const control::Connection leader = offered(server, scenario).leader;
    REQUIRE(::write(leader.fd(), "\x40\x00\x00\x00{", 5) == 5);
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("clients that are not set up as said end the run with the reason", "[dialogue]") {
  const Scenario scenario = small_scenario(Transport::rc);
  const LiveServer server;
  control::Connection leader = offered(server, scenario).leader;
  const nlohmann::json endpoint = control::to_json(Endpoint{.path_mtu_bytes = 1024});
  SECTION("no list") {
    leader.send({{"ready", 7}});
    CHECK_THAT(refusal(leader), Catch::Contains("ready"));
  }
  SECTION("too few") {
    leader.send({{"ready", nlohmann::json::array({endpoint})}});
    CHECK_THAT(refusal(leader), Catch::Contains("list of 2"));
  }
  SECTION("numbers out of range") {
    nlohmann::json bad = endpoint;
    bad["queue_pair"] = 1U << 24;
    leader.send({{"ready", nlohmann::json::array({bad, bad})}});
    CHECK_THAT(refusal(leader), Catch::Contains("queue_pair"));
  }
  SECTION("a GID that is none") {
    nlohmann::json bad = endpoint;
    bad["gid"][3] = 256;
    leader.send({{"ready", nlohmann::json::array({bad, bad})}});
    CHECK_THAT(refusal(leader), Catch::Contains("GID"));
  }
  SECTION("other queue pairs that are no list, or too many") {
    nlohmann::json bad = endpoint;
    bad["more"] = GENERATE(nlohmann::json(7), nlohmann::json(65536, 0));
    leader.send({{"ready", nlohmann::json::array({bad, bad})}});
    CHECK_THAT(refusal(leader), Catch::Contains("no list of queue pairs"));
  }
  SECTION("another queue pair that is none") {
    nlohmann::json bad = endpoint;
    const auto [another, what] = GENERATE(table<std::string, std::string>(
        {{"3", "queue_pair"},
         {R"({"packet_sequence": 1})", "queue_pair"},
         {R"({"queue_pair": 16777216, "packet_sequence": 1})", "queue_pair"},
         {R"({"queue_pair": 1, "packet_sequence": -1})", "packet_sequence"}}));
    bad["more"].push_back(nlohmann::json::parse(another));
    leader.send({{"ready", nlohmann::json::array({bad, bad})}});
    CHECK_THAT(refusal(leader), Catch::Contains(what));
  }
  SECTION("a result instead") {
    leader.send({{"result", nlohmann::json::object()}});
    CHECK_THAT(refusal(leader), Catch::Contains("ready"));
  }
  SECTION("twice") {
    leader.send({{"ready", nlohmann::json::array({endpoint, endpoint})}});
    leader.send({{"ready", nlohmann::json::array({endpoint, endpoint})}});
    nlohmann::json said = answer(leader);
    while (!said.contains("failed")) said = answer(leader);
  }
  SECTION("clients that failed, in words that are no UTF-8 when cut") {
    std::string words;
    for (int i = 0; i < 5000; ++i) words += "\xc3\xa9";
    leader.send({{"failed", words}});
    CHECK(refusal(leader).size() < 5000);
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a client with other queue pairs than the scenario says ends the run with the reason",
          "[dialogue]") {
  Scenario scenario = small_scenario(Transport::rc);
  scenario.exchange = Exchange::write_write;
  scenario.completion.mode = CompletionMode::busy;
  scenario.load.window = 2;
  scenario.queue_pair.per_client = 2;
  const LiveServer server;
  control::Connection leader = offered(server, scenario).leader;
  const Endpoint one{.path_mtu_bytes = 1024};
  const nlohmann::json endpoint = control::to_json(one);
  leader.send({{"ready", nlohmann::json::array({endpoint, endpoint})}});
  CHECK_THAT(refusal(leader), Catch::Contains("1 queue pairs a client"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("TCP clients that never open their data connections end the run", "[dialogue]") {
  const LiveServer server;
  control::Connection leader = offered(server, small_scenario()).leader;
  leader.send({{"ready", nlohmann::json::array()}});
  CHECK_THAT(refusal(leader), Catch::Contains("2 of 2 clients did not open their data connection"));
}

TEST_CASE("only the leader asks for points", "[dialogue]") {
  const LiveServer server;
  control::Connection joiner = server.dial();
  joiner.send({{"common_ground", control::common_ground()}, {"join", true}});
  control::Connection leader = server.dial();
  leader.send(hello_with(small_scenario(), 2));
  CHECK(answer(leader).contains("accepted"));
  CHECK(answer(joiner).contains("accepted"));
  joiner.send({{"point", 2}});
  CHECK_THAT(refusal(leader), Catch::Contains("out of turn"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("an interrupted client keeps what it measured, with the server's side", "[dialogue]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = endless_scenario(transport);
  const LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  const PointResult point = client.run_point_in_which([&] { client.interrupt(); }, scenario);
  CHECK(point.partial_reason == "interrupted");
  CHECK(point.operations.total() >= 18);
  CHECK(point.check_violations.count == 0);
  CHECK(point.server_work.served >= point.operations.total());
  CHECK(point.server.threads == 2);
}

TEST_CASE("an interrupt ends all processes of a run, each with the whole partial result", "[dialogue]") {
  const bool leader_is_interrupted = GENERATE(true, false);
  const Scenario scenario = endless_scenario();
  const LiveServer server;
  Follower follower(server);
  TestClient leader(server);
  leader->lead(scenario, 2);
  std::thread person([&] {
    leader.await_operations(20);
    follower.client().await_operations(20);
    (leader_is_interrupted ? leader : follower.client()).interrupt();
  });
  const PointResult point = leader.run_point(scenario, 3);
  leader->done();
  person.join();
  follower.end();
  CHECK_THAT(point.partial_reason, Catch::Contains("interrupted"));
  CHECK(point.per_client.size() == 3);
  REQUIRE(follower.points().size() == 1);
  CHECK(follower.points()[0].operations.total() == point.operations.total());
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a process that dies in the middle ends the run; the other keeps its part", "[dialogue]") {
  const LiveServer server;
  const Scenario scenario = endless_scenario();
  // Plays its part byte by byte as far as having clients that say nothing, and then goes.
  std::thread mortal([&] {
    TestPorts ports;
    control::Connection joiner = server.dial();
    joiner.send({{"common_ground", control::common_ground()}, {"join", true}});
    answer(joiner);
    const nlohmann::json point = answer(joiner);
    const auto offer = control::offer_from_json(point["point"]["offers"][0]);
    ClientPoint clients(ports.port(scenario), scenario, {.first = 1, .count = 1, .of = 2});
    clients.connect(0, {.endpoint = {}, .address = {"127.0.0.1", offer.address.port}, .token = offer.token},
                    ports.port(scenario).runtime->now() + patience);
    joiner.send({{"ready", nlohmann::json::array()}});
    answer(joiner);
    std::this_thread::sleep_for(50ms);
  });
  TestClient leader(server);
  leader->lead(scenario, 2);
  const PointResult point = leader.run_point(scenario, 2);
  mortal.join();
  CHECK_THAT(point.partial_reason, Catch::Contains("is gone"));
  CHECK(point.operations.total() > 0);
  CHECK(point.per_client.size() == 1);
  CHECK(point.check_violations.count == 0);
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a server that is stopped in the middle leaves a partial result with the reason", "[dialogue]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = endless_scenario(transport);
  LiveServer server;
  TestClient client(server);
  client->lead(scenario, 1);
  const PointResult point = client.run_point_in_which([&] { server.stop(); }, scenario);
  CHECK_THAT(point.partial_reason, Catch::Contains("the server was stopped"));
  CHECK(point.operations.total() >= 18);
  CHECK(point.check_violations.count == 0);
}

TEST_CASE("a server that vanishes is told from one that answers", "[dialogue]") {
  // A listener that takes hello and hangs up.
  control::Listener listener({.host = "127.0.0.1", .port = 0});
  std::thread server([&] {
    auto connection = listener.accept(deadline(), -1);
    connection->receive(deadline());
  });
  const control::StopSignal interrupt;
  control::RunClient client(control::dial({.host = "127.0.0.1", .port = listener.port()}, deadline()),
                            interrupt, nullptr);
  CHECK_THROWS_WITH(client.lead(small_scenario(), 1), Catch::Contains("is gone"));
  server.join();
}

TEST_CASE("what a server says is checked by its clients", "[dialogue]") {
  const nlohmann::json said = GENERATE(
      nlohmann::json{{"accepted", 1}}, nlohmann::json{{"accepted", {{"process", 0}}}},
      nlohmann::json{{"accepted", {{"process", 3}, {"processes", 2}}}}, nlohmann::json{{"hello", "you"}},
      nlohmann::json{{"accepted", {{"process", 0}, {"processes", 1}, {"scenario", {{"nonsense", 1}}}}}});
  control::Listener listener({.host = "127.0.0.1", .port = 0});
  std::thread server([&] {
    auto connection = listener.accept(deadline(), -1);
    connection->receive(deadline());
    connection->send(said);
    try {
      connection->receive(deadline());
    } catch (const Error&) {
      // It has hung up, as it should.
    }
  });
  {
    const control::StopSignal interrupt;
    control::RunClient client(control::dial({.host = "127.0.0.1", .port = listener.port()}, deadline()),
                              interrupt, nullptr);
    CHECK_THROWS_AS(client.join(), Error);
  }
  server.join();
}
