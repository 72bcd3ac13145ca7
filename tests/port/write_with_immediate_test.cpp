// WRITEs with immediate: the bytes of a WRITE, and a receive whose completion tells of them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

constexpr std::uint32_t number = 0x0102'0304;  // not the same from either end

SendRequest write_telling(const Side& side, std::uint32_t slot, std::uint32_t bytes, const RemoteMemory& to,
                          std::uint32_t immediate = number) {
  SendRequest request = one_sided(SendOperation::write_with_immediate, side, slot, bytes, to);
  request.immediate = immediate;
  return request;
}

// A server that exposes its region, and a client.
struct Link {
  Link(const PortPair& ports, Transport transport, bool allowed = true)
      : server(ports.server, transport, {.one_sided = allowed}),
        client(ports.client, transport, {.inline_bytes = inlined_bytes(ports)}) {
    connect(ports, server, client);
  }
  static std::uint32_t inlined_bytes(const PortPair& ports) {
    return std::min(ports.client.device->limits().inline_bytes, 16U);
  }
  // Receives of no bytes.
  [[nodiscard]] int post_receive(std::uint64_t id) const { return server.pair->post_receive({.id = id}); }

  // The server's next receive.
  void check_told(std::uint64_t id, std::uint32_t immediate) const {
    const Taken told = take(How::block, *server.receives);
    CHECK(told.completion.id == id);
    CHECK(told.completion.immediate == immediate);
  }

  Side server;
  Side client;
};

TEST_CASE("a WRITE with immediate takes a receive, whose completion tells that its bytes are in place",
          "[immediate]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  const How how = GENERATE(How::spin, How::block, How::await_event);
  const bool with_buffer = GENERATE(false, true);
  with_ports(transport, [&](const PortPair& ports) {
    const Link link(ports, transport);
    REQUIRE((with_buffer ? link.server.pair->post_receive({9, link.server.region.get(), 0, 512})
                         : link.post_receive(9)) == 0);
    std::ranges::fill(link.client.payload(7).first(operation_bytes), std::byte{5});
    REQUIRE(link.client.pair->post_send(
                write_telling(link.client, 7, operation_bytes, remote(link.server, 3, 20))) == 0);
    const Taken told = take(how, *link.server.receives);
    REQUIRE(told.result.wake == Wake::completions);
    CHECK(told.completion.id == 9);
    CHECK(told.completion.status == CompletionStatus::ok);
    CHECK(told.completion.bytes == 0);
    CHECK(told.completion.queue_pair == link.server.pair->endpoint().queue_pair);
    CHECK(told.completion.immediate == number);
    const std::span<std::byte> slot = link.server.payload(3);
    CHECK(std::ranges::count(slot.subspan(20, operation_bytes), std::byte{5}) == operation_bytes);
    CHECK(std::ranges::count(link.server.region->bytes(), std::byte{0}) ==
          Side::slots * Side::slot_bytes - operation_bytes);
    const Taken written = take(How::block, *link.client.sends);
    CHECK(written.completion.id == 7);
    CHECK(written.completion.status == CompletionStatus::ok);
    CHECK_FALSE(written.completion.immediate);
    CHECK(nothing_comes(ports, *link.server.receives));
  });
}

TEST_CASE("a SEND brings no immediate", "[immediate]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    Link link(ports, transport);
    REQUIRE(link.post_receive(9) == 0);
    REQUIRE(link.client.post_send(1, 0) == 0);
    const Taken sent = take(How::block, *link.server.receives);
    CHECK(sent.completion.id == 9);
    CHECK(sent.completion.status == CompletionStatus::ok);
    CHECK_FALSE(sent.completion.immediate);
  });
}

TEST_CASE("a WRITE with immediate of no bytes tells all the same", "[immediate]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    const Link link(ports, transport);
    REQUIRE(link.post_receive(9) == 0);
    REQUIRE(link.client.pair->post_send(write_telling(link.client, 7, 0, remote(link.server, 3), 0)) == 0);
    link.check_told(9, 0);
  });
}

TEST_CASE("its receive tells of the WRITEs before it, too, posted together or inlined", "[immediate]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  const bool inlined = GENERATE(false, true);
  with_ports(transport, [&](const PortPair& ports) {
    const std::uint32_t bytes = Link::inlined_bytes(ports);
    const Link link(ports, transport);
    for (const std::uint64_t id : {8, 9}) REQUIRE(link.post_receive(id) == 0);
    std::array<SendRequest, 3> requests{};
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      link.client.payload(i)[0] = static_cast<std::byte>(i + 1);
      requests[i] = write_telling(link.client, i, bytes, remote(link.server, i), i);
      requests[i].inlined = inlined;
    }
    requests[1].operation = SendOperation::write;
    REQUIRE(link.client.pair->post_sends(requests) == 0);
    link.check_told(8, 0);
    link.check_told(9, 2);
    for (std::uint32_t i = 0; i < requests.size(); ++i) {
      CHECK(link.server.payload(i)[0] == static_cast<std::byte>(i + 1));
    }
  });
}

TEST_CASE("on RC a WRITE with immediate waits for a receive", "[immediate]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    const Link link(ports, Transport::rc);
    link.client.payload(1)[0] = std::byte{1};
    REQUIRE(link.client.pair->post_send(write_telling(link.client, 1, 1, remote(link.server, 3))) == 0);
    CHECK(nothing_comes(ports, *link.client.sends));
    REQUIRE(link.post_receive(9) == 0);
    CHECK(take(How::block, *link.server.receives).completion.immediate == number);
    CHECK(link.server.payload(3)[0] == std::byte{1});
    CHECK(take(How::block, *link.client.sends).completion.status == CompletionStatus::ok);
  });
}

TEST_CASE("on UC a WRITE with immediate that finds no receive is dropped", "[immediate]") {
  with_ports(Transport::uc, [](const PortPair& ports) {
    const Link link(ports, Transport::uc);
    REQUIRE(link.client.pair->post_send(write_telling(link.client, 1, 8, remote(link.server, 3), 1)) == 0);
    CHECK(take(How::block, *link.client.sends).completion.status == CompletionStatus::ok);
    CHECK(nothing_comes(ports, *link.server.receives));
    REQUIRE(link.post_receive(9) == 0);
    REQUIRE(link.client.pair->post_send(write_telling(link.client, 2, 8, remote(link.server, 3), 2)) == 0);
    link.check_told(9, 2);
  });
}

TEST_CASE("a WRITE with immediate that is not allowed moves nothing and tells nobody", "[immediate]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  const bool wrong_key = GENERATE(false, true);
  with_ports(transport, [&](const PortPair& ports) {
    const Link link(ports, transport, wrong_key);
    const auto exposed = ports.server.device->make_exposed_region(Side::slot_bytes, PeerAccess::all);
    REQUIRE(link.post_receive(9) == 0);
    link.client.payload(1)[0] = std::byte{1};
    RemoteMemory memory = exposed->remote();
    if (wrong_key) memory.key ^= 0x5a5a'5a5aU;
    REQUIRE(link.client.pair->post_send(write_telling(link.client, 1, 8, memory)) == 0);
    if (transport == Transport::rc) {
      CHECK(take(How::block, *link.client.sends).completion.status == CompletionStatus::access);
      // Flushed, or used up by what failed.
      const Taken lost = take(How::block, *link.server.receives);
      CHECK(lost.completion.id == 9);
      CHECK(lost.completion.status != CompletionStatus::ok);
    } else {
      CHECK(nothing_comes(ports, *link.server.receives));
    }
    CHECK(exposed->bytes()[0] == std::byte{0});
  });
}

}  // namespace
}  // namespace rkv::test
