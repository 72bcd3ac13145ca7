// A server that stops closes the control connection and the data connections, and a client may notice either
// first. The reason that the client gives is the server's all the same. Servers played by hand close them in
// each order.
#include <poll.h>

#include <catch2/catch.hpp>
#include <future>

#include "tests/control/live_server.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

const nlohmann::json stopped{{"failed", "the server was stopped"}};

control::Listener any_port() {
  return control::Listener({.host = "127.0.0.1", .port = 0});
}

// A server up to its offer of a point of one TCP client, whose data connection is to go to `data_port`.
control::Connection offer_point(control::Listener& listener, std::uint16_t data_port) {
  control::Connection client = *listener.accept(deadline(), -1);
  answer(client);  // hello
  client.send({{"accepted", {{"process", 0}, {"processes", 1}}}});
  answer(client);  // point
  const ServerOffer offer{.endpoint = {}, .address = {"127.0.0.1", data_port}, .token = 1};
  client.send({{"point", {{"clients", 1}, {"offers", {control::to_json(offer)}}}}});
  return client;
}

// Runs an endless point of one client against a server that `play` plays on a thread.
template <class Play>
PointResult run_against(Play play, control::RunClient::OnProgress on_progress = nullptr) {
  control::Listener listener = any_port();
  const Scenario scenario = endless_scenario();
  TestPorts ports;
  const control::StopSignal interrupt;
  auto server = std::async(std::launch::async, [&] { play(listener); });
  control::RunClient client(control::dial({.host = "127.0.0.1", .port = listener.port()}, deadline()),
                            interrupt, std::move(on_progress));
  client.lead(scenario, 1);
  PointResult point = client.run_point(ports.port(scenario), scenario, 1);
  server.get();
  return point;
}

}  // namespace

TEST_CASE("data connections that close before the server says why", "[last word]") {
  nlohmann::json handed_in;
  const PointResult point = run_against([&](control::Listener& listener) {
    control::Listener data = any_port();
    control::Connection client = offer_point(listener, data.port());
    data.accept(deadline(), -1);  // and hang up
    answer(client);               // ready
    client.send({{"start", true}});
    handed_in = answer(client);  // so it has given up, without a word of the server
    client.send(stopped);
  });
  CHECK_THAT(handed_in["result"]["partial_reason"].get<std::string>(), Catch::StartsWith("client 0: "));
  CHECK_THAT(point.partial_reason, Catch::StartsWith("client 0: "));
  CHECK_THAT(point.partial_reason, Catch::EndsWith(": the server was stopped"));
}

TEST_CASE("a control connection that is reset with the server's word unread", "[last word]") {
  std::atomic<bool> watching{false};
  std::atomic<bool> hung_up{false};
  const auto play = [&](control::Listener& listener) {
    {
      control::Listener data = any_port();
      control::Connection client = offer_point(listener, data.port());
      const auto connected = data.accept(deadline(), -1);
      pollfd ready{.fd = client.fd(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
      client.send({{"start", true}});
      watching.wait(false);
      client.send(stopped);
      // Closed with the client's "ready" unread, the connection is reset: the client can send nothing more.
    }
    hung_up = true;
    hung_up.notify_one();
  };
  const auto look_away = [&](const control::PointProgress&) {
    watching = true;
    watching.notify_one();
    hung_up.wait(false);
    // Time for the client to end, so that sending its result is what comes next. If it takes longer, the word
    // is read where it always is.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  CHECK_THAT(run_against(play, look_away).partial_reason, Catch::EndsWith(": the server was stopped"));
}

TEST_CASE("a data connection that is refused by a server that says why", "[last word]") {
  const auto play = [](control::Listener& listener) {
    const std::uint16_t nobody_listens = any_port().port();
    offer_point(listener, nobody_listens).send(stopped);
  };
  CHECK_THROWS_WITH(run_against(play), Catch::EndsWith(": the server was stopped"));
}

TEST_CASE("a data connection that is refused by a server that says nothing", "[last word]") {
  const auto play = [](control::Listener& listener) {
    const std::uint16_t nobody_listens = any_port().port();
    control::Connection client = offer_point(listener, nobody_listens);
    try {
      answer(client);
    } catch (const Error&) {
      // It has hung up, as it should.
    }
  };
  CHECK_THROWS_WITH(run_against(play), Catch::Contains("refused"));
}
