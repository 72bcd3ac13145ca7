// Peers that send what is no request, pretend to be somebody else, or are gone in the middle of a run: the
// server counts it and serves the others, every response of theirs checked.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "core/exchange/stream_greeting.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "tests/run/local_point.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t token = 0x1122334455667788;
constexpr std::uint32_t honest = 2;  // clients, before the one that is not

Scenario scenario_of(Transport transport) {
  Scenario scenario = checked_scenario(transport, CompletionMode::event, 600);
  // A message that a bad one pushed out is sent again soon.
  scenario.retry = {.timeout = 50ms, .retries = 10};
  return scenario;
}

// A queue pair of no client: posts what it likes.
class RawPeer {
 public:
  RawPeer(const Port& port, const Scenario& scenario)
      : device_(*port.device),
        stop_(port.runtime->make_stop_flag()),
        sends_(device_.make_completion_queue(1, false)),
        receives_(device_.make_completion_queue(1, false)),
        queue_pair_(device_.make_queue_pair({.transport = scenario.transport,
                                             .send_completions = sends_.get(),
                                             .receive_completions = receives_.get(),
                                             .send_depth = 1,
                                             .receive_depth = 1,
                                             .max_sge = 1,
                                             .inline_bytes = 0})),
        region_(device_.make_region(1U << 16)),
        set_(wait_set_of(port, *sends_, *stop_)),
        deadline_(port.runtime->now() + 60s) {}

  [[nodiscard]] Endpoint endpoint() const { return queue_pair_->endpoint(); }
  void connect(const Endpoint& server) {
    queue_pair_->connect(server);
    address_ = device_.make_address_handle(server);
    ud_ = server.qkey != 0;
  }
  // Posts a message and waits until it is on its way (RC: until it has arrived). False when the queue pair
  // has failed.
  bool send(std::span<const std::byte> message) {
    std::copy(message.begin(), message.end(), region_->bytes().begin());
    if (queue_pair_->post_send({.id = 1,
                                .region = region_.get(),
                                .offset = 0,
                                .length = static_cast<std::uint32_t>(message.size()),
                                .signalled = true,
                                .inlined = false,
                                .destination = ud_ ? address_.get() : nullptr}) != 0) {
      return false;
    }
    Completion completion;
    const WaitResult result = set_->spin(std::span(&completion, 1), SpinBudget{}, deadline_);
    return result.wake == Wake::completions && completion.status == CompletionStatus::ok;
  }

 private:
  Device& device_;
  std::unique_ptr<StopFlag> stop_;
  std::unique_ptr<CompletionQueue> sends_;
  std::unique_ptr<CompletionQueue> receives_;
  std::unique_ptr<QueuePair> queue_pair_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<AddressHandle> address_;
  bool ud_ = false;
  std::unique_ptr<WaitSet> set_;
  Instant deadline_;
};

// Runs the honest clients beside `attack`, which gets a connected queue pair; gives what came of both.
LocalPoint beside(const PortPair& ports, const Scenario& scenario,
                  const std::function<void(RawPeer&)>& attack) {
  ServerPoint server(ports.server, scenario, honest + 1, token, store_for(ports.server, scenario));
  ClientPoint clients(ports.client, scenario, {.first = 0, .count = honest, .of = honest + 1});
  RawPeer peer(ports.client, scenario);
  for (std::uint32_t c = 0; c < honest; ++c) {
    clients.connect(c, server.offer(c), never);
    server.connect(c, clients.endpoint(c));
  }
  peer.connect(server.offer(honest).endpoint);
  server.connect(honest, peer.endpoint());
  server.start();
  clients.start(ports.client.runtime->now());
  attack(peer);
  LocalPoint point;
  point.result = clients.collect(Instant{});
  point.server = server.collect();
  return point;
}

void require_served(const PointResult& point, std::uint64_t operations) {
  for (const std::string& text : point.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(point.check_violations.count == 0);
  CHECK(point.partial_reason.empty());
  CHECK(point.operations.total() == operations);
  CHECK(point.lost == 0);
}

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<std::byte> request_of(const MessageFormat& format, const RequestId& id, Method method) {
  std::vector<std::byte> bytes(format.largest_request_bytes());
  const std::byte key[] = {std::byte{'k'}};
  bytes.resize(format.write_request(bytes, id, method, key, {}));
  return bytes;
}

}  // namespace

TEST_CASE("random messages are rejected and the others served", "[untrusted]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = scenario_of(transport);
  const std::uint32_t largest = MessageFormat(scenario.message).largest_request_bytes();
  with_ports(transport, [&](const PortPair& ports) {
    std::mt19937 random(42);
    const LocalPoint point = beside(ports, scenario, [&](RawPeer& peer) {
      for (int i = 0; i < 200; ++i) CHECK(peer.send(random_bytes(random, random() % (largest + 1))));
    });
    require_served(point.result, 400);
    CHECK(point.server.counts.rejected > 0);
    CHECK(point.server.counts.served == 400);
    CHECK(point.server.counts.broken_sessions == 0);
  });
}

TEST_CASE("requests in another client's name are rejected", "[untrusted]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = scenario_of(transport);
  const MessageFormat format(scenario.message);
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = beside(ports, scenario, [&](RawPeer& peer) {
      for (std::uint32_t i = 0; i < 200; ++i) {
        // A RESET that is believed would empty the honest clients' store.
        const std::uint32_t victim = i % 3 == 2 ? 0xffffffff : i % 3;
        CHECK(peer.send(request_of(format, {.client = victim, .slot = 0, .sequence = i + 1}, Method::reset)));
      }
    });
    require_served(point.result, 400);
    CHECK(point.server.counts.rejected > 0);
    CHECK(point.server.counts.served == 400);
  });
}

TEST_CASE("requests whose lengths or slots make no sense do no harm", "[untrusted]") {
  const auto transport = GENERATE(Transport::uc, Transport::ud);
  const Scenario scenario = scenario_of(transport);
  const MessageFormat format(scenario.message);
  with_ports(transport, [&](const PortPair& ports) {
    std::mt19937 random(43);
    const LocalPoint point = beside(ports, scenario, [&](RawPeer& peer) {
      for (std::uint32_t i = 0; i < 200; ++i) {
        const RequestId id{
            .client = honest, .slot = static_cast<std::uint16_t>(random()), .sequence = random()};
        auto bytes = request_of(format, id, Method::ping);
        // Behind the fields that say who it is: key and value lengths, slot, method.
        for (std::size_t at = 16; at < request_header_bytes; ++at)
          bytes[at] = static_cast<std::byte>(random());
        bytes[26] = static_cast<std::byte>(100 + random() % 100);  // no method
        CHECK(peer.send(bytes));
      }
    });
    require_served(point.result, 400);
    CHECK(point.server.counts.rejected > 0);
    CHECK(point.server.counts.work.entries_walked > 0);
  });
}

TEST_CASE("a message longer than any request is its sender's loss only", "[untrusted]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const Scenario scenario = scenario_of(transport);
  with_ports(transport, [&](const PortPair& ports) {
    const std::size_t most =
        transport == Transport::ud ? ports.client.device->limits().path_mtu_bytes : 60'000;
    const LocalPoint point = beside(ports, scenario, [&](RawPeer& peer) {
      const std::vector<std::byte> message(most);
      const bool delivered = peer.send(message);
      if (transport == Transport::rc) CHECK_FALSE(delivered);
    });
    require_served(point.result, 400);
    CHECK(point.server.counts.served == 400);
  });
}

TEST_CASE("clients that vanish in the middle leave the others served", "[untrusted]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::adaptive, CompletionMode::shared);
  if (transport == Transport::tcp && mode == CompletionMode::shared) return;  // sockets share no queue
  const bool tcp = transport == Transport::tcp;
  Scenario scenario = scenario_of(transport);
  scenario.completion.mode = mode;
  scenario.load.window = 4;
  scenario.server.workers = GENERATE(0U, 1U);
  Scenario endless = scenario;
  endless.load.total_operations = 0;
  endless.load.duration = 1h;
  CAPTURE(static_cast<int>(transport), static_cast<int>(mode), scenario.server.workers);
  with_ports(transport, [&](const PortPair& ports) {
    ServerPoint server(ports.server, scenario, honest + 1, token, store_for(ports.server, scenario));
    ClientPoint clients(ports.client, scenario, {.first = 0, .count = honest, .of = honest + 1});
    auto mortal = std::make_unique<ClientPoint>(ports.client, endless,
                                                ClientShare{.first = honest, .count = 1, .of = honest + 1});
    const Instant deadline = ports.client.runtime->now() + 30s;
    for (std::uint32_t c = 0; c <= honest; ++c) {
      ClientPoint& side = c < honest ? clients : *mortal;
      const std::uint32_t index = c < honest ? c : 0;
      side.connect(index, server.offer(c), deadline);
      if (!tcp) server.connect(c, side.endpoint(index));
    }
    if (tcp) server.accept_streams(deadline);
    server.start();
    mortal->start(ports.client.runtime->now());
    sleep_until_holds(ports.client, [&] { return mortal->operations_done() >= 20; });
    clients.start(ports.client.runtime->now());
    mortal.reset();
    require_served(clients.collect(Instant{}), 400);
    const ServerResult served = server.collect();
    CHECK(served.counts.served >= 420);
    CHECK(served.counts.rejected == 0);
  });
}

TEST_CASE("strangers at the data port are not taken for clients", "[untrusted]") {
  const Scenario scenario = scenario_of(Transport::tcp);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    ServerPoint server(ports.server, scenario, honest, token, store_for(ports.server, scenario));
    const Instant deadline = ports.client.runtime->now() + 60s;
    const StreamSpec spec{.receive_capacity = 4096, .transmit_capacity = 4096, .wait = {}};
    std::mt19937 random(44);
    std::vector<std::unique_ptr<Stream>> strangers;
    const auto stranger_says = [&](std::span<const std::byte> bytes) {
      strangers.push_back(ports.client.streams->dial(server.offer(0).address, spec, deadline));
      CHECK(strangers.back()->send(bytes) == StreamSend::accepted);
    };
    stranger_says(random_bytes(random, 3000));
    stranger_says(as_bytes(StreamGreeting{.token = token + 1, .client = 0}));
    stranger_says(as_bytes(StreamGreeting{.token = token, .client = honest}));
    stranger_says(as_bytes(StreamGreeting{.token = token, .client = 0xffffffff}));
    strangers.push_back(ports.client.streams->dial(server.offer(0).address, spec, deadline));
    strangers.back()->close();
    ClientPoint clients(ports.client, scenario, {.first = 0, .count = honest, .of = honest});
    for (std::uint32_t c = 0; c < honest; ++c) clients.connect(c, server.offer(c), deadline);
    stranger_says(as_bytes(StreamGreeting{.token = token, .client = 0}));  // that one is here already
    server.accept_streams(deadline);
    server.start();
    clients.start(ports.client.runtime->now());
    require_served(clients.collect(Instant{}), 600);
    CHECK(server.collect().counts.broken_sessions == 0);
  });
}

TEST_CASE("a stream of bytes that are no requests is closed, the others are served", "[untrusted]") {
  Scenario scenario = scenario_of(Transport::tcp);
  scenario.server.workers = GENERATE(0U, 1U);
  const MessageFormat format(scenario.message);
  with_ports(Transport::tcp, [&](const PortPair& ports) {
    std::mt19937 random(45);
    std::vector<std::byte> garbage = random_bytes(random, 5000);
    bool in_anothers_name = false;
    SECTION("random") {}
    SECTION("zeros") {
      std::fill(garbage.begin(), garbage.end(), std::byte{0});
    }
    SECTION("a length beyond all capacities") {
      garbage = request_of(format, {.client = honest, .slot = 0, .sequence = 1}, Method::ping);
      std::memset(garbage.data() + 16, 0xff, 8);
    }
    SECTION("a request in another's name, and then random") {
      const auto request = request_of(format, {.client = 0, .slot = 0, .sequence = 1}, Method::reset);
      garbage.insert(garbage.begin(), request.begin(), request.end());
      in_anothers_name = true;
    }
    ServerPoint server(ports.server, scenario, honest + 1, token, store_for(ports.server, scenario));
    const Instant deadline = ports.client.runtime->now() + 60s;
    ClientPoint clients(ports.client, scenario, {.first = 0, .count = honest, .of = honest + 1});
    for (std::uint32_t c = 0; c < honest; ++c) clients.connect(c, server.offer(c), deadline);
    const auto stream = ports.client.streams->dial(
        server.offer(0).address, {.receive_capacity = 4096, .transmit_capacity = 8192, .wait = {}}, deadline);
    CHECK(stream->send(as_bytes(StreamGreeting{.token = token, .client = honest})) == StreamSend::accepted);
    server.accept_streams(deadline);
    server.start();
    clients.start(ports.client.runtime->now());
    CHECK(stream->send(garbage) == StreamSend::accepted);
    const auto stop = ports.client.runtime->make_stop_flag();
    const auto set = wait_set_of(ports.client, *stream, *stop);
    Completion completion;
    const WaitResult result = set->block(std::span(&completion, 1), deadline);
    CHECK(result.wake == Wake::completions);
    CHECK(completion.status != CompletionStatus::ok);  // hung up on, without an answer
    require_served(clients.collect(Instant{}), 400);
    const ServerResult served = server.collect();
    CHECK(served.counts.rejected == (in_anothers_name ? 2U : 1U));
    CHECK(served.counts.broken_sessions == 1);
    CHECK(served.counts.served == 400);
  });
}
