// Sends and receives on all three transports.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "core/error.hpp"
#include "tests/port/link.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t message_bytes = 100;

void fill(std::span<std::byte> bytes, int seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 3 + std::size_t(seed));
}

TEST_CASE("a message arrives with its bytes, length and ids", "[queue_pair]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const How how = GENERATE(How::spin, How::block);
  with_ports(transport, [&](const PortPair& ports) {
    Side server(ports.server, transport, {});
    Side client(ports.client, transport, {});
    REQUIRE(server.post_receive(5) == 0);  // before the connection
    connect(ports, server, client);
    fill(client.payload(7), 1);
    REQUIRE(client.post_send(7, message_bytes) == 0);

    const Taken received = take(how, *server.receives);
    REQUIRE(received.result.wake == Wake::completions);
    CHECK(received.result.count == 1);
    CHECK(received.completion.id == 5);
    CHECK(received.completion.status == CompletionStatus::ok);
    CHECK(received.completion.bytes == message_bytes);
    CHECK(received.completion.queue_pair == server.pair->endpoint().queue_pair);
    if (transport == Transport::ud) {
      CHECK(received.completion.source_queue_pair == client.pair->endpoint().queue_pair);
    }
    CHECK(std::ranges::equal(server.payload(5).first(message_bytes), client.payload(7).first(message_bytes)));
    CHECK(server.payload(5)[message_bytes] == std::byte{0});

    const Taken sent = take(how, *client.sends);
    REQUIRE(sent.result.wake == Wake::completions);
    CHECK(sent.completion.id == 7);
    CHECK(sent.completion.status == CompletionStatus::ok);
    CHECK(sent.completion.queue_pair == client.pair->endpoint().queue_pair);
  });
}

TEST_CASE("an inlined message may be overwritten at once", "[queue_pair]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  with_ports(transport, [&](const PortPair& ports) {
    const std::uint32_t limit = ports.client.device->limits().inline_bytes;
    if (limit == 0) {
      WARN("this device sends nothing inline");
      return;
    }
    const std::uint32_t bytes = std::min(limit, 64U);
    Side server(ports.server, transport, {});
    Side client(ports.client, transport, {.inline_bytes = bytes});
    connect(ports, server, client);
    for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(server.post_receive(i) == 0);
    for (int i = 0; i < 4; ++i) {
      fill(client.payload(0).first(bytes), i);
      REQUIRE(client.post_send(0, bytes, true, true) == 0);
    }
    for (int i = 0; i < 4; ++i) {
      const Taken received = take(How::spin, *server.receives);
      REQUIRE(received.completion.id == static_cast<std::uint64_t>(i));
      fill(client.payload(0).first(bytes), i);
      CHECK(std::ranges::equal(server.payload(received.completion.id).first(bytes),
                               client.payload(0).first(bytes)));
    }
  });
}

TEST_CASE("an unsignalled send completes silently", "[queue_pair]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  with_ports(transport, [&](const PortPair& ports) {
    Side server(ports.server, transport, {});
    Side client(ports.client, transport, {});
    connect(ports, server, client);
    for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(server.post_receive(i) == 0);
    REQUIRE(client.post_send(0, message_bytes, false) == 0);
    REQUIRE(client.post_send(1, message_bytes, false) == 0);
    REQUIRE(client.post_send(2, message_bytes, true) == 0);
    for (int i = 0; i < 3; ++i) REQUIRE(take(How::block, *server.receives).result.count == 1);
    const Taken sent = take(How::block, *client.sends);
    CHECK(sent.completion.id == 2);
    CHECK(take(How::spin, *client.sends, ports.client.runtime->now()).result.wake == Wake::deadline);
  });
}

TEST_CASE("a full receive queue refuses with ENOMEM", "[queue_pair]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  with_ports(transport, [&](const PortPair& ports) {
    Side side(ports.server, transport, {.depth = 4});
    int refusal = 0;
    // A device may round the depth up, but not for ever.
    for (int i = 0; i < 4096 && refusal == 0; ++i) refusal = side.post_receive(0);
    CHECK(refusal == ENOMEM);
  });
}

TEST_CASE("messages keep their order through several rounds of the queues", "[queue_pair]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  with_ports(transport, [&](const PortPair& ports) {
    Side server(ports.server, transport, {.depth = 4});
    Side client(ports.client, transport, {.depth = 4});
    connect(ports, server, client);
    for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(server.post_receive(i) == 0);
    for (std::uint64_t i = 0; i < 40; ++i) {
      client.payload(i % 4)[0] = static_cast<std::byte>(i);
      REQUIRE(client.post_send(i % 4, 1) == 0);
      const Taken received = take(How::spin, *server.receives);
      REQUIRE(received.completion.id == i % 4);
      REQUIRE(server.payload(i % 4)[0] == static_cast<std::byte>(i));
      REQUIRE(server.post_receive(i % 4) == 0);
      REQUIRE(take(How::spin, *client.sends).completion.id == i % 4);
    }
  });
}

TEST_CASE("a message longer than its buffer is an error at the receiver", "[queue_pair]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {});
    Side client(ports.client, Transport::rc, {});
    connect(ports, server, client);
    REQUIRE(server.post_receive(0, 10) == 0);
    REQUIRE(server.post_receive(1) == 0);
    REQUIRE(client.post_send(0, 11) == 0);
    CHECK(take(How::block, *server.receives).completion.status == CompletionStatus::message_length);
    CHECK(take(How::block, *server.receives).completion.status == CompletionStatus::flushed);
    CHECK(take(How::block, *client.sends).completion.status == CompletionStatus::message_length);
    REQUIRE(client.post_send(1, 5) == 0);
    CHECK(take(How::block, *client.sends).completion.status == CompletionStatus::flushed);
  });
}

TEST_CASE("an RC queue pair that was failed is flushed, and carries messages again once it is connected anew",
          "[queue_pair]") {
  constexpr Transport transport = Transport::rc;
  with_ports(transport, [&](const PortPair& ports) {
    Side server(ports.server, transport, {});
    Side client(ports.client, transport, {});
    client.pair->fail();  // not connected: nothing to fail
    connect(ports, server, client);
    for (int connection = 0; connection < 3; ++connection) {
      for (std::uint64_t i = 0; i < 2; ++i) REQUIRE(server.post_receive(i) == 0);
      fill(client.payload(7), connection);
      REQUIRE(client.post_send(7, message_bytes) == 0);
      REQUIRE(take(How::block, *client.sends).completion.status == CompletionStatus::ok);
      const Taken received = take(How::block, *server.receives);
      REQUIRE(received.completion.status == CompletionStatus::ok);
      CHECK(
          std::ranges::equal(server.payload(0).first(message_bytes), client.payload(7).first(message_bytes)));

      for (Side* side : {&server, &client}) side->pair->fail();
      const Taken flushed = take(How::block, *server.receives);
      CHECK(flushed.completion.id == 1);
      CHECK(flushed.completion.status == CompletionStatus::flushed);
      REQUIRE(client.post_send(3, message_bytes, false) == 0);
      const Taken late = take(How::block, *client.sends);
      CHECK(late.completion.id == 3);
      CHECK(late.completion.status == CompletionStatus::flushed);

      for (Side* side : {&server, &client}) {
        const Endpoint before = side->pair->endpoint();
        side->pair->reset();
        const Endpoint after = side->pair->endpoint();
        CHECK((before.queue_pair != after.queue_pair || before.packet_sequence != after.packet_sequence));
      }
      connect(ports, server, client);
    }
  });
}

TEST_CASE("sending to a peer that was destroyed fails on RC", "[queue_pair]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side client(ports.client, Transport::rc, {});
    {
      Side server(ports.server, Transport::rc, {});
      connect(ports, server, client);
    }
    REQUIRE(client.post_send(3, message_bytes) == 0);
    const Taken sent = take(How::block, *client.sends);
    CHECK(sent.completion.id == 3);
    CHECK(sent.completion.status == CompletionStatus::peer_unreachable);
  });
}

TEST_CASE("one completion queue does not mix UD with connected queue pairs", "[queue_pair]") {
  with_ports(Transport::ud, [&](const PortPair& ports) {
    const auto queue = ports.server.device->make_completion_queue(16, false);
    Side datagrams(ports.server, Transport::ud, {.shared_receives = queue.get()});
    CHECK_THROWS_AS(Side(ports.server, Transport::rc, {.shared_receives = queue.get()}), Error);
  });
}

TEST_CASE("limits are those of a usable device, and beyond them it refuses", "[queue_pair]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Device& device = *ports.server.device;
    const DeviceLimits& limits = device.limits();
    CHECK(limits.queue_depth >= 16);
    CHECK(limits.completion_queue_depth >= 16);
    CHECK(limits.max_sge >= 1);
    CHECK(limits.path_mtu_bytes >= 256);
    Side at_inline_limit(ports.server, Transport::rc, {.inline_bytes = limits.inline_bytes});
    const auto queue = device.make_completion_queue(16, false);
    QueuePairSpec spec;
    spec.transport = Transport::rc;
    spec.send_completions = queue.get();
    spec.receive_completions = queue.get();
    spec.receive_depth = 1;
    spec.send_depth = limits.queue_depth + 1;
    CHECK_THROWS_WITH(device.make_queue_pair(spec), Catch::Contains(std::string(device.device_name())));
  });
}

TEST_CASE("a region is zeroed and page-aligned", "[queue_pair]") {
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const auto region = ports.server.device->make_region(10'000);
    const std::span<std::byte> bytes = region->bytes();
    REQUIRE(bytes.size() == 10'000);
    CHECK(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096 == 0);
  });
}

}  // namespace
}  // namespace rkv::test
