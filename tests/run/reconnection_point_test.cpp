// Connections that are lost in the middle, on either side: each is made anew and counted, and what was under
// way is answered and done once. The two sides are of one process and connect each other directly.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>

#include "tests/run/local_point.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t clients = 2;
constexpr std::uint64_t token = 1;

// What a backend does over its control connections.
class Between {
 public:
  void serve(ServerPoint& server) { links_ = server.links(); }
  // For the clients' threads.
  std::optional<Endpoint> reconnect(std::uint32_t client, const Endpoint& own, const StopFlag& stop) {
    {
      const std::scoped_lock lock(mutex_);
      links_->fail(client);
    }
    while (!stop.requested()) {
      if (const std::scoped_lock lock(mutex_); links_->state(client) == ServerLinks::State::down) {
        const Endpoint server = links_->connect_anew(client, own);
        ++connected_anew_;
        return server;
      }
      std::this_thread::sleep_for(100us);
    }
    return std::nullopt;
  }
  // The server's end, as if it had exceeded its retries; the client is told when its worker has noticed.
  void lose_at_server(ClientPoint& point, std::uint32_t client) {
    const std::uint64_t before = downs_;
    while (downs_ == before) {
      {
        const std::scoped_lock lock(mutex_);
        links_->fail(client);  // again when it was being connected anew
      }
      std::this_thread::sleep_for(100us);
    }
    lose_at_client(point, client);
  }
  void lose_at_client(ClientPoint& point, std::uint32_t client) {
    const std::uint64_t before = connected_anew_;
    while (connected_anew_ == before) {
      point.fail(client);  // again when it was connecting anew
      std::this_thread::sleep_for(1ms);
    }
  }
  void link_is_down() { ++downs_; }
  [[nodiscard]] std::uint64_t connected_anew() const { return connected_anew_; }

 private:
  std::mutex mutex_;
  ServerLinks* links_ = nullptr;
  std::atomic<std::uint64_t> downs_{0};
  std::atomic<std::uint64_t> connected_anew_{0};
};

struct LossyPoint : LocalPoint {
  std::uint64_t connected_anew = 0;
};

constexpr std::uint32_t losses = 10;

// Loses connections while the clients run, with what `lose` does to the client of this number.
LossyPoint run_with_losses(const PortPair& ports, const Scenario& scenario,
                           const std::function<void(Between&, ClientPoint&, std::uint32_t)>& lose) {
  Between between;
  ServerPoint server(ports.server, scenario, clients, token, store_for(ports.server, scenario),
                     [&between] { between.link_is_down(); });
  ClientPoint client(ports.client, scenario, {.first = 0, .count = clients, .of = clients},
                     [&between](std::uint32_t index, const Endpoint& own, const StopFlag& stop) {
                       return between.reconnect(index, own, stop);
                     });
  REQUIRE(server.links() != nullptr);
  REQUIRE(client.reconnects());
  between.serve(server);
  for (std::uint32_t c = 0; c < clients; ++c) {
    client.connect(c, server.offer(c), never);
    server.connect(c, client.endpoint(c));
  }
  server.start();
  client.start(ports.client.runtime->now());
  for (std::uint32_t i = 0; i < losses; ++i) {
    const std::uint64_t before = client.operations_done();
    while (client.operations_done() < before + 20) std::this_thread::sleep_for(100us);
    lose(between, client, i % clients);
  }
  client.stop();
  LossyPoint point;
  point.result = client.collect(Instant{});
  point.server = server.collect();
  point.connected_anew = between.connected_anew();
  return point;
}

Scenario endless(CompletionMode mode) {
  Scenario scenario = checked_scenario(Transport::rc, mode, 0);
  scenario.load.duration = 1h;
  return scenario;
}

void require_right(const LossyPoint& point, std::uint32_t window) {
  for (const std::string& text : point.result.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(point.result.check_violations.count == 0);
  CHECK(point.result.partial_reason == "client 0: stopped");
  CHECK(point.connected_anew >= losses);
  CHECK(point.result.reconnections <= point.connected_anew);
  CHECK(point.result.reconnections + clients >= point.connected_anew);  // the end may come in between
  CHECK(point.result.retries >= point.result.reconnections);
  CHECK(point.result.retries <= window * point.result.reconnections);
  CHECK(point.result.lost == 0);
  // Each is done once. Of those that the end cut off, some were.
  CHECK(point.server.counts.served >= point.result.operations.total());
  CHECK(point.server.counts.served <= point.result.operations.total() + std::uint64_t{window} * clients);
  CHECK(point.server.counts.rejected == 0);
}

}  // namespace

TEST_CASE("connections that the clients lose are made anew", "[reconnection]") {
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::busy);
  const auto window = GENERATE(1U, 8U);
  Scenario scenario = endless(mode);
  scenario.load.window = window;
  scenario.queue_pair.await_send_completion = GENERATE(true, false);
  scenario.queue_pair.signal_interval = scenario.queue_pair.await_send_completion ? 1 : 4;
  if (window > 1) {
    scenario.queue_pair.receive_batch = 4;
    scenario.queue_pair.doorbell_batch = scenario.queue_pair.await_send_completion ? 1 : 4;
  }
  with_ports(Transport::rc, [&](const PortPair& ports) {
    require_right(run_with_losses(ports, scenario,
                                  [](Between& between, ClientPoint& point, std::uint32_t client) {
                                    between.lose_at_client(point, client);
                                  }),
                  window);
  });
}

TEST_CASE("connections that the server loses are made anew", "[reconnection]") {
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::hybrid);
  const auto window = GENERATE(1U, 8U);
  Scenario scenario = endless(mode);
  scenario.load.window = window;
  scenario.queue_pair.await_send_completion = false;
  scenario.queue_pair.signal_interval = 4;
  scenario.server.workers = GENERATE(1U, 2U);
  if (window > 1) {
    scenario.queue_pair.receive_batch = 4;
    scenario.queue_pair.doorbell_batch = 4;
  } else {
    scenario.queue_pair.receives_after_drain = scenario.server.workers == 1;
  }
  with_ports(Transport::rc, [&](const PortPair& ports) {
    require_right(run_with_losses(ports, scenario,
                                  [](Between& between, ClientPoint& point, std::uint32_t client) {
                                    between.lose_at_server(point, client);
                                  }),
                  window);
  });
}

TEST_CASE("a client whom nobody connects anew is reported broken, and the others go on", "[reconnection]") {
  constexpr std::uint64_t operations = 20'000;
  const Scenario scenario = checked_scenario(Transport::rc, CompletionMode::event, operations);
  const bool refused = GENERATE(true, false);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    ServerPoint server(ports.server, scenario, clients, token, store_for(ports.server, scenario), [] {});
    std::atomic<std::uint32_t> asked{0};
    ClientPoint client(ports.client, scenario, {.first = 0, .count = clients, .of = clients},
                       [&](std::uint32_t index, const Endpoint&, const StopFlag&) -> std::optional<Endpoint> {
                         ++asked;
                         if (refused) return std::nullopt;
                         return server.offer(index).endpoint;  // which has failed, for ever
                       });
    for (std::uint32_t c = 0; c < clients; ++c) {
      client.connect(c, server.offer(c), never);
      server.connect(c, client.endpoint(c));
    }
    server.start();
    client.start(ports.client.runtime->now());
    server.links()->fail(1);
    client.fail(1);
    const PointResult point = client.collect(Instant{});
    CHECK_THAT(point.partial_reason, Catch::StartsWith(refused ? "client 1: the server does not connect anew"
                                                               : "client 1: peer unreachable"));
    CHECK(asked == (refused ? 1U : 8U));
    CHECK(point.reconnections == (refused ? 0U : 8U));
    CHECK(point.per_client[0].operations == operations / clients);
    CHECK(point.check_violations.count == 0);
    CHECK(server.collect().counts.broken_sessions == 1);
  });
}

TEST_CASE("who shares completion queues, or has another exchange, is not connected anew", "[reconnection]") {
  Scenario scenario = endless(CompletionMode::event);
  CHECK(can_reconnect(scenario, 4, 4));
  CHECK(can_reconnect(scenario, 4, 1));
  CHECK_FALSE(can_reconnect(scenario, 2, 4));
  scenario.completion.mode = CompletionMode::shared;
  CHECK_FALSE(can_reconnect(scenario, 4, 2));
  scenario = endless(CompletionMode::event);
  scenario.exchange = Exchange::write_write;
  CHECK_FALSE(can_reconnect(scenario, 4, 4));
  scenario = checked_scenario(Transport::uc, CompletionMode::event, 0);
  CHECK_FALSE(can_reconnect(scenario, 4, 4));
}
