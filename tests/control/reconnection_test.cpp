// Connecting anew over the control connection: what a process may ask of its server, and what a server may
// say to it.
#include <catch2/catch.hpp>
#include <optional>

#include "core/run/server_point.hpp"
#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

// A leader with two RC clients that say nothing, byte by byte, up to the start of its point.
class SilentLeader {
 public:
  explicit SilentLeader(const LiveServer& server, const Scenario& scenario)
      : clients_(ports_.port(scenario), scenario, {.first = 0, .count = 2, .of = 2}),
        connection_(server.dial()) {
    connection_.send(hello_with(scenario));
    answer(connection_);
    connection_.send({{"point", 2}});
    const nlohmann::json point = answer(connection_);
    nlohmann::json endpoints = nlohmann::json::array();
    for (std::uint32_t c = 0; c < 2; ++c) {
      clients_.connect(c, control::offer_from_json(point["point"]["offers"][c]), never);
      endpoints.push_back(endpoint(c));
    }
    connection_.send({{"ready", endpoints}});
    REQUIRE(answer(connection_).contains("start"));
  }
  nlohmann::json ask(const nlohmann::json& message) {
    connection_.send(message);
    return answer(connection_);
  }
  [[nodiscard]] nlohmann::json endpoint(std::uint32_t client) const {
    return control::to_json(clients_.endpoint(client));
  }

 private:
  TestPorts ports_;
  ClientPoint clients_;
  control::Connection connection_;
};

// A server with one RC client, whose words the test says, up to the point's start.
class SpeakingServer {
 public:
  // What the run of a client came to whom this was said when its point had started.
  PointResult say(const Scenario& scenario, const nlohmann::json& words) {
    control::Listener listener({.host = "127.0.0.1", .port = 0});
    std::thread server([&] { serve(listener, scenario, words); });
    PointResult point;
    {
      control::RunClient client(control::dial({.host = "127.0.0.1", .port = listener.port()}, deadline()),
                                interrupt_, nullptr);
      client.lead(scenario, 1);
      point = client.run_point(client_ports_.port(scenario), scenario, 1);
    }
    server.join();
    return point;
  }

 private:
  void serve(control::Listener& listener, const Scenario& scenario, const nlohmann::json& words) {
    auto connection = listener.accept(deadline(), -1);
    answer(*connection);
    connection->send({{"accepted", {{"process", 0}, {"processes", 1}, {"scenario", to_json(scenario)}}}});
    answer(*connection);
    const Port port = server_ports_.port(scenario);
    ServerPoint point(port, scenario, 1, 1, make_store(scenario.store, *port.runtime, 1U << 28));
    connection->send(
        {{"point", {{"clients", 1}, {"offers", nlohmann::json::array({control::to_json(point.offer(0))})}}}});
    const nlohmann::json ready = answer(*connection);
    if (scenario.transport == Transport::tcp) {
      point.accept_streams(port.runtime->now() + patience);
    } else {
      point.connect(0, control::endpoint_from_json(ready["ready"][0]));
    }
    point.start();
    connection->send({{"start", true}});
    connection->send(words);
    try {
      while (connection->receive(deadline())) {
      }
    } catch (const Error&) {
      // It has hung up, as it should.
    }
  }

  TestPorts client_ports_;
  TestPorts server_ports_;
  const control::StopSignal interrupt_;
};

}  // namespace

TEST_CASE("a process that asks is given its client's new endpoint, as often as it asks", "[reconnection]") {
  const LiveServer server;
  {
    SilentLeader leader(server, endless_scenario(Transport::rc));
    std::vector<std::uint64_t> first_psns;
    for (std::uint32_t i = 0; i < 6; ++i) {
      const nlohmann::json said =
          leader.ask({{"reconnect", {{"client", i % 2}, {"endpoint", leader.endpoint(i % 2)}}}});
      REQUIRE(said.contains("reconnected"));
      CHECK(said["reconnected"]["client"] == i % 2);
      const Endpoint given = control::endpoint_from_json(said["reconnected"]["endpoint"]);
      first_psns.push_back(given.packet_sequence);
    }
    std::sort(first_psns.begin(), first_psns.end());
    CHECK(std::unique(first_psns.begin(), first_psns.end()) - first_psns.begin() > 1);
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a reconnection that makes no sense ends the run with the reason", "[reconnection]") {
  const LiveServer server;
  {
    SilentLeader leader(server, endless_scenario(Transport::rc));
    nlohmann::json asked{{"client", 1}, {"endpoint", leader.endpoint(1)}};
    std::string reason;
    SECTION("of no client") {
      asked["client"] = 2;
      reason = "client";
    }
    SECTION("of a client that is no number") {
      asked["client"] = "1";
      reason = "client";
    }
    SECTION("without an endpoint") {
      asked.erase("endpoint");
      reason = "endpoint";
    }
    SECTION("with an endpoint that is none") {
      asked["endpoint"] = 3;
      reason = "queue_pair";
    }
    SECTION("with a first PSN of more than 24 bits") {
      asked["endpoint"]["packet_sequence"] = 1U << 24;
      reason = "packet_sequence";
    }
    SECTION("that is no object") {
      asked = nlohmann::json::array({1, 2});
      reason = "client";
    }
    const nlohmann::json said = leader.ask({{"reconnect", asked}});
    CHECK_THAT(said.value("failed", "not refused"), Catch::Contains(reason));
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("only RC clients, and only those of a process itself, are connected anew", "[reconnection]") {
  const LiveServer server;
  SECTION("of a datagram service") {
    SilentLeader leader(server, endless_scenario(Transport::ud));
    const nlohmann::json said =
        leader.ask({{"reconnect", {{"client", 0}, {"endpoint", leader.endpoint(0)}}}});
    CHECK_THAT(said.value("failed", "not refused"), Catch::Contains("which this scenario has not"));
  }
  SECTION("of another process") {
    const Scenario scenario = endless_scenario(Transport::rc);
    Follower follower(server);
    TestPorts ports;
    control::Connection leader = server.dial();
    leader.send(hello_with(scenario, 2));
    answer(leader);
    leader.send({{"point", 2}});
    const nlohmann::json point = answer(leader);
    ClientPoint clients(ports.port(scenario), scenario, {.first = 0, .count = 1, .of = 2});
    clients.connect(0, control::offer_from_json(point["point"]["offers"][0]), never);
    const nlohmann::json endpoint = control::to_json(clients.endpoint(0));
    leader.send({{"ready", nlohmann::json::array({endpoint})}});
    REQUIRE(answer(leader).contains("start"));
    leader.send({{"reconnect", {{"client", 1}, {"endpoint", endpoint}}}});
    CHECK_THAT(refusal(leader), Catch::Contains("not one of its own"));
    follower.end();
    REQUIRE(follower.points().size() == 1);
    CHECK_THAT(follower.points()[0].partial_reason, Catch::Contains("not one of its own"));
  }
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("what a server says of connections is checked", "[reconnection]") {
  const nlohmann::json endpoint = control::to_json(Endpoint{.path_mtu_bytes = 1024});
  Scenario scenario = endless_scenario(Transport::rc);
  nlohmann::json words;
  std::string reason;
  SECTION("a client that is not its own was disconnected") {
    words = {{"disconnected", 1}};
    reason = "disconnected";
  }
  SECTION("one that is no number") {
    words = {{"disconnected", nlohmann::json::object()}};
    reason = "disconnected";
  }
  SECTION("one that did not ask was connected anew") {
    words = {{"reconnected", {{"client", 0}, {"endpoint", endpoint}}}};
    reason = "had not asked";
  }
  SECTION("or will not be") {
    words = {{"not_reconnected", 0}};
    reason = "had not asked";
  }
  SECTION("to an endpoint that is none") {
    words = {{"reconnected", {{"client", 0}, {"endpoint", {{"queue_pair", -1}}}}}};
    reason = "queue_pair";
  }
  SECTION("without queue pairs") {
    scenario = endless_scenario(GENERATE(Transport::tcp, Transport::uc));
    words = {{"disconnected", 0}};
    reason = "out of turn";
  }
  SECTION("nothing that is known") {
    words = {{"hello", "you"}};
    reason = "reconnected";
  }
  SpeakingServer server;
  CHECK_THAT(server.say(scenario, words).partial_reason, Catch::Contains(reason));
}
