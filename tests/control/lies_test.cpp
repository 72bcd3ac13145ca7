// Results that are not what a client measured: refused, and never the server's end.
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "core/report/exchange.hpp"
#include "core/run/client_point.hpp"
#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

// Plays a leader with two silent TCP clients that hands in this result; gives the server's answer.
nlohmann::json hand_in(const LiveServer& server, const nlohmann::json& result) {
  TestPorts ports;
  const Scenario scenario = small_scenario();
  control::Connection leader = server.dial();
  leader.send(hello_with(scenario));
  answer(leader);
  leader.send({{"point", 2}});
  const nlohmann::json point = answer(leader);
  ClientPoint clients(ports.port(scenario), scenario, {.first = 0, .count = 2, .of = 2});
  for (std::uint32_t c = 0; c < 2; ++c) {
    const auto offer = control::offer_from_json(point["point"]["offers"][c]);
    clients.connect(c, {.endpoint = {}, .address = {"127.0.0.1", offer.address.port}, .token = offer.token},
                    ports.port(scenario).runtime->now() + patience);
  }
  leader.send({{"ready", nlohmann::json::array()}});
  REQUIRE(answer(leader).contains("start"));
  leader.send(result);
  return answer(leader);
}

PointResult honest() {
  PointResult point;
  point.clients = 2;
  for (std::uint32_t client = 0; client < 2; ++client) {
    Histogram latency;
    latency.record(Duration(5000));
    MeasuredWindow window;
    window.include(Duration(1000), Duration(9000));
    point.per_client.push_back(client_result(client, latency, window));
    point.latency.merge(latency);
    point.window.merge(window);
    point.operations.add(Method::get, ResponseCode::ok);
  }
  return point;
}

}  // namespace

TEST_CASE("an honest result is merged", "[lies]") {
  const LiveServer server;
  const nlohmann::json merged = hand_in(server, {{"result", to_json(honest())}});
  REQUIRE(merged.contains("result"));
  CHECK(point_from_json(merged["result"]).operations.total() == 2);
}

TEST_CASE("results of other clients, of nobody, or twice are refused", "[lies]") {
  const LiveServer server;
  PointResult point = honest();
  SECTION("another's") {
    point.per_client[1].client = 2;
  }
  SECTION("far away") {
    point.per_client[1].client = 0xffffffff;
  }
  CHECK_THAT(hand_in(server, {{"result", to_json(point)}}).value("failed", ""),
             Catch::Contains("not one of its own"));
  point = honest();
  point.per_client[1].client = 0;
  CHECK_THAT(hand_in(server, {{"result", to_json(point)}}).value("failed", ""),
             Catch::Contains("two client processes") || Catch::Contains("twice"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("a result that is none is refused", "[lies]") {
  const LiveServer server;
  nlohmann::json message{{"result", to_json(honest())}};
  SECTION("missing") {
    message = {{"results", 1}};
  }
  SECTION("no object") {
    message["result"] = 3;
  }
  SECTION("negative counts") {
    message["result"]["retries"] = -1;
  }
  SECTION("times beyond all clocks") {
    message["result"]["client"]["cpu_time_ns"] = ~std::uint64_t{0};
  }
  SECTION("a window that ends before it begins") {
    message["result"]["window"] = {{"first_request_ns", 9}, {"last_response_ns", 3}};
  }
  SECTION("a reason that is no text") {
    message["result"]["partial_reason"] = 5;
  }
  SECTION("a histogram that is none") {
    message["result"]["latency"] = {{"counts", {{1, 1, 1}}}};
  }
  CHECK(hand_in(server, message).contains("failed"));
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("absurd counts are passed on and change nothing else", "[lies]") {
  const LiveServer server;
  PointResult point = honest();
  point.clients = 0xffffffff;
  point.retries = ~std::uint64_t{0};
  point.operations.add(Method::set, ResponseCode::ok, ~std::uint64_t{0});
  point.server_work.served = 12345;  // the server knows better
  const nlohmann::json merged = hand_in(server, {{"result", to_json(point)}});
  REQUIRE(merged.contains("result"));
  CHECK(merged["result"]["clients"] == 2);
  CHECK(merged["result"]["server_work"]["served"] == 0);
  CHECK(serve_one(server).operations.total() == 300);
}

TEST_CASE("mutated results do not end the server", "[lies]") {
  const LiveServer server;
  std::mt19937 random(11);
  const nlohmann::json whole = to_json(honest());
  const nlohmann::json flat = whole.flatten();
  std::vector<std::string> paths;
  for (const auto& [path, value] : flat.items()) paths.push_back(path);
  const std::vector<nlohmann::json> values{
      nullptr, -1, 1e300, "x", nlohmann::json::array(), nlohmann::json::object(), ~std::uint64_t{0}};
  for (int round = 0; round < 25; ++round) {
    nlohmann::json changed = whole;
    changed[nlohmann::json::json_pointer(paths[random() % paths.size()])] = values[random() % values.size()];
    CAPTURE(changed.dump());
    const nlohmann::json said = hand_in(server, {{"result", changed}});
    CHECK((said.contains("failed") || said.contains("result")));
  }
  CHECK(serve_one(server).operations.total() == 300);
}
