// WRITEs and READs: what they move, and what they may not.
#include "tests/port/one_sided.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>

#include "core/error.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

constexpr std::byte zero{0};

void put_pattern(std::span<std::byte> place, int seed) {
  for (std::size_t i = 0; i < place.size(); ++i)
    place[i] = static_cast<std::byte>(i % 50 + std::size_t(seed));
}

bool all_zero(std::span<const std::byte> place) {
  return std::ranges::all_of(place, [](std::byte byte) { return byte == zero; });
}

// Until a WRITE's last byte is there: its completion tells of the sender's side only.
void wait_for(std::byte& last, const Port& port, const StopFlag& stop) {
  const std::atomic_ref value(reinterpret_cast<std::uint8_t&>(last));
  while (value.load(std::memory_order_acquire) == 0)
    port.runtime->sleep_until(port.runtime->now() + 1us, stop);
}

struct OneSided {
  OneSided(const PortPair& ports, Transport transport, const SideOptions& client_options = {})
      : server(ports.server, transport, {.one_sided = true}),
        client(ports.client, transport, client_options) {
    connect(ports, server, client);
  }
  Side server;
  Side client;
};

TEST_CASE("a WRITE puts bytes into the peer's memory, and nobody there is told", "[one_sided]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  const bool receive_posted = GENERATE(false, true);
  with_ports(transport, [&](const PortPair& ports) {
    OneSided link(ports, transport);
    if (receive_posted) REQUIRE(link.server.post_receive(9) == 0);
    const std::span<std::byte> source = link.client.payload(7).first(operation_bytes);
    put_pattern(source, 1);
    const RemoteMemory to = remote(link.server, 3, 20);
    REQUIRE(link.client.pair->post_send(
                one_sided(SendOperation::write, link.client, 7, operation_bytes, to)) == 0);
    const Taken written = take(How::block, *link.client.sends);
    REQUIRE(written.result.wake == Wake::completions);
    CHECK(written.completion.id == 7);
    CHECK(written.completion.status == CompletionStatus::ok);
    CHECK(written.completion.queue_pair == link.client.pair->endpoint().queue_pair);

    const std::span<std::byte> slot = link.server.payload(3);
    wait_for(slot[20 + operation_bytes - 1], ports.server, *link.server.stop);
    CHECK(std::ranges::equal(slot.subspan(20, operation_bytes), source));
    CHECK(all_zero(slot.first(20)));
    CHECK(all_zero(slot.subspan(20 + operation_bytes)));
    CHECK(nothing_comes(ports, *link.server.receives));
  });
}

TEST_CASE("a READ fetches bytes from the peer's memory, and nobody there is told", "[one_sided]") {
  const How how = GENERATE(How::spin, How::block);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    OneSided link(ports, Transport::rc);
    REQUIRE(link.server.post_receive(9) == 0);
    put_pattern(link.server.payload(3), 1);
    const RemoteMemory from = remote(link.server, 3, 21);
    REQUIRE(link.client.pair->post_send(
                one_sided(SendOperation::read, link.client, 7, operation_bytes, from)) == 0);
    const Taken read = take(how, *link.client.sends);
    REQUIRE(read.result.wake == Wake::completions);
    CHECK(read.completion.id == 7);
    CHECK(read.completion.status == CompletionStatus::ok);
    CHECK(read.completion.queue_pair == link.client.pair->endpoint().queue_pair);
    const std::span<std::byte> slot = link.client.payload(7);
    CHECK(
        std::ranges::equal(slot.first(operation_bytes), link.server.payload(3).subspan(21, operation_bytes)));
    CHECK(all_zero(slot.subspan(operation_bytes)));
    CHECK(nothing_comes(ports, *link.server.receives));
  });
}

TEST_CASE("both ends read what the other wrote, and send beside it", "[one_sided]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    OneSided link(ports, Transport::rc, {.one_sided = true});
    REQUIRE(link.server.post_receive(9) == 0);
    put_pattern(link.client.payload(1), 1);
    put_pattern(link.server.payload(1), 50);
    REQUIRE(link.client.pair->post_send(one_sided(SendOperation::write, link.client, 1, operation_bytes,
                                                  remote(link.server, 2))) == 0);
    REQUIRE(link.server.pair->post_send(one_sided(SendOperation::write, link.server, 1, operation_bytes,
                                                  remote(link.client, 2))) == 0);
    REQUIRE(link.client.post_send(1, operation_bytes) == 0);
    REQUIRE(link.client.pair->post_send(one_sided(SendOperation::read, link.client, 3, operation_bytes,
                                                  remote(link.server, 2))) == 0);
    for (const std::uint64_t id : {1U, 1U, 3U}) {
      const Taken done = take(How::block, *link.client.sends);
      CHECK(done.completion.id == id);
      CHECK(done.completion.status == CompletionStatus::ok);
    }
    CHECK(take(How::block, *link.server.receives).completion.id == 9);
    REQUIRE(take(How::block, *link.server.sends).completion.status == CompletionStatus::ok);
    CHECK(std::ranges::equal(link.client.payload(3).first(operation_bytes),
                             link.client.payload(1).first(operation_bytes)));
    wait_for(link.client.payload(2)[operation_bytes - 1], ports.client, *link.client.stop);
    CHECK(std::ranges::equal(link.client.payload(2).first(operation_bytes),
                             link.server.payload(1).first(operation_bytes)));
  });
}

TEST_CASE("the bytes of an inlined WRITE may be overwritten at once", "[one_sided]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  with_ports(transport, [&](const PortPair& ports) {
    const std::uint32_t length = std::min(ports.client.device->limits().inline_bytes, 64U);
    if (length == 0) {
      WARN("this device writes nothing inline");
      return;
    }
    OneSided link(ports, transport, {.inline_bytes = length});
    for (std::uint32_t i = 0; i < 4; ++i) {
      put_pattern(link.client.payload(0).first(length), static_cast<int>(i + 1));
      SendRequest request = one_sided(SendOperation::write, link.client, 0, length, remote(link.server, i));
      request.inlined = true;
      REQUIRE(link.client.pair->post_send(request) == 0);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::span<std::byte> written = link.server.payload(i).first(length);
      wait_for(written.back(), ports.server, *link.server.stop);
      put_pattern(link.client.payload(0).first(length), static_cast<int>(i + 1));
      CHECK(std::ranges::equal(written, link.client.payload(0).first(length)));
    }
  });
}

TEST_CASE("unsignalled WRITEs and READs complete silently", "[one_sided]") {
  const SendOperation operation = GENERATE(SendOperation::write, SendOperation::read);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    OneSided link(ports, Transport::rc);
    for (const std::uint32_t slot : {0U, 1U, 2U}) {
      SendRequest request =
          one_sided(operation, link.client, slot, operation_bytes, remote(link.server, slot));
      request.signalled = slot == 2;
      REQUIRE(link.client.pair->post_send(request) == 0);
    }
    CHECK(take(How::block, *link.client.sends).completion.id == 2);
    CHECK(nothing_comes(ports, *link.client.sends));
  });
}

TEST_CASE("what names memory that is not exposed completes in error, and both queue pairs fail",
          "[one_sided]") {
  const SendOperation operation =
      GENERATE(SendOperation::write, SendOperation::write_with_immediate, SendOperation::read);
  enum class Wrong { key, before, beyond, gone };
  const Wrong wrong = GENERATE(Wrong::key, Wrong::before, Wrong::beyond, Wrong::gone);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    OneSided link(ports, Transport::rc);
    REQUIRE(link.server.post_receive(9) == 0);
    link.client.payload(1)[0] = std::byte{1};
    auto short_lived = ports.server.device->make_exposed_region(Side::slot_bytes, PeerAccess::all);
    RemoteMemory memory = remote(link.server, 0);
    if (wrong == Wrong::key) memory.key ^= 0x5a5a'5a5aU;
    if (wrong == Wrong::before) memory.address -= 1;
    if (wrong == Wrong::beyond) memory.address += Side::slots * Side::slot_bytes - operation_bytes + 1;
    if (wrong == Wrong::gone) memory = short_lived->remote();
    short_lived.reset();

    REQUIRE(link.client.pair->post_send(one_sided(operation, link.client, 1, operation_bytes, memory)) == 0);
    const Taken refused = take(How::block, *link.client.sends);
    CHECK(refused.completion.id == 1);
    CHECK(refused.completion.status == CompletionStatus::access);
    CHECK(all_zero(link.server.region->bytes()));

    const RemoteMemory good = remote(link.server, 0);
    REQUIRE(link.client.pair->post_send(one_sided(operation, link.client, 2, operation_bytes, good)) == 0);
    const Taken flushed = take(How::block, *link.client.sends);
    CHECK(flushed.completion.id == 2);
    CHECK(flushed.completion.status == CompletionStatus::flushed);
    // A WRITE with immediate may have used the receive up when it failed.
    const CompletionStatus receive = take(How::block, *link.server.receives).completion.status;
    CHECK((receive == CompletionStatus::flushed ||
           (operation == SendOperation::write_with_immediate && receive == CompletionStatus::access)));
  });
}

TEST_CASE("an unsignalled request that is refused completes all the same", "[one_sided]") {
  const SendOperation operation =
      GENERATE(SendOperation::write, SendOperation::write_with_immediate, SendOperation::read);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    OneSided link(ports, Transport::rc);
    REQUIRE(link.server.post_receive(9) == 0);
    RemoteMemory memory = remote(link.server, 0);
    memory.key ^= 0x5a5a'5a5aU;
    SendRequest request = one_sided(operation, link.client, 1, operation_bytes, memory);
    request.signalled = false;
    REQUIRE(link.client.pair->post_send(request) == 0);
    const Taken refused = take(How::block, *link.client.sends);
    CHECK(refused.completion.id == 1);
    CHECK(refused.completion.status == CompletionStatus::access);
  });
}

TEST_CASE("a queue pair that is not one-sided refuses its peer", "[one_sided]") {
  const SendOperation operation =
      GENERATE(SendOperation::write, SendOperation::write_with_immediate, SendOperation::read);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {});
    Side client(ports.client, Transport::rc, {.one_sided = true});
    connect(ports, server, client);
    const auto exposed = ports.server.device->make_exposed_region(Side::slot_bytes, PeerAccess::all);
    client.payload(1)[0] = std::byte{1};
    REQUIRE(client.pair->post_send(one_sided(operation, client, 1, operation_bytes, exposed->remote())) == 0);
    CHECK(take(How::block, *client.sends).completion.status == CompletionStatus::access);
    CHECK(all_zero(exposed->bytes()));
  });
}

TEST_CASE("on UC a WRITE that is not allowed is dropped, and its sender does not learn of it",
          "[one_sided]") {
  const bool allowed = GENERATE(false, true);
  with_ports(Transport::uc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::uc, {.one_sided = allowed});
    Side client(ports.client, Transport::uc, {});
    connect(ports, server, client);
    const auto exposed = ports.server.device->make_exposed_region(Side::slot_bytes, PeerAccess::all);
    const RemoteMemory good = exposed->remote();
    RemoteMemory memory = good;
    if (allowed) memory.key ^= 0x5a5a'5a5aU;
    put_pattern(client.payload(1), 1);
    put_pattern(client.payload(2), 2);
    REQUIRE(client.pair->post_send(one_sided(SendOperation::write, client, 1, operation_bytes, memory)) == 0);
    CHECK(take(How::block, *client.sends).completion.status == CompletionStatus::ok);
    if (allowed) {
      REQUIRE(client.pair->post_send(one_sided(SendOperation::write, client, 2, operation_bytes, good)) == 0);
      wait_for(exposed->bytes()[operation_bytes - 1], ports.server, *server.stop);
      CHECK(std::ranges::equal(exposed->bytes().first(operation_bytes),
                               client.payload(2).first(operation_bytes)));
    } else {
      CHECK(nothing_comes(ports, *server.receives));
      CHECK(all_zero(exposed->bytes()));
    }
  });
}

TEST_CASE("memory that is exposed for one operation refuses the others", "[one_sided]") {
  const bool atomics = GENERATE(false, true);
  const auto access = GENERATE(PeerAccess::read, PeerAccess::write, PeerAccess::all);
  const auto operation =
      atomics ? SendOperation::fetch_and_add
              : GENERATE(SendOperation::read, SendOperation::write, SendOperation::write_with_immediate);
  const bool allowed = access == PeerAccess::all ||
                       (access == PeerAccess::read && operation == SendOperation::read) ||
                       (access == PeerAccess::write && is_write(operation));
  with_ports(Transport::rc, [&](const PortPair& ports) {
    if (atomics && !ports.server.device->limits().atomics) return;
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {.one_sided = true});
    connect(ports, server, client);
    const auto exposed = ports.server.device->make_exposed_region(Side::slot_bytes, access);
    REQUIRE(server.post_receive(9) == 0);
    client.payload(1)[0] = std::byte{1};
    SendRequest request = one_sided(operation, client, 1, atomic_bytes, exposed->remote());
    request.operand = 1;
    REQUIRE(client.pair->post_send(request) == 0);
    CHECK(take(How::block, *client.sends).completion.status ==
          (allowed ? CompletionStatus::ok : CompletionStatus::access));
    if (!allowed) CHECK(all_zero(exposed->bytes()));
  });
}

TEST_CASE("memory that is not exposed has no name", "[one_sided]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    const auto region = ports.server.device->make_region(64);
    CHECK_THROWS_AS(region->remote(), Error);
    const auto exposed = ports.server.device->make_exposed_region(64, PeerAccess::all);
    CHECK(exposed->bytes().size() == 64);
    CHECK(all_zero(exposed->bytes()));
  });
}

TEST_CASE("what the transport has not is refused with EINVAL", "[one_sided]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  with_ports(transport, [&](const PortPair& ports) {
    const std::uint32_t length = std::min(ports.client.device->limits().inline_bytes, 8U);
    OneSided link(ports, transport, {.inline_bytes = length});
    const auto post = [&](SendOperation operation, bool inlined) {
      SendRequest request = one_sided(operation, link.client, 1, length, remote(link.server, 0));
      request.inlined = inlined;
      request.destination = link.client.peer.get();
      return link.client.pair->post_send(request);
    };
    CHECK(post(SendOperation::write, false) == (transport == Transport::ud ? EINVAL : 0));
    CHECK(post(SendOperation::write_with_immediate, false) == (transport == Transport::ud ? EINVAL : 0));
    CHECK(post(SendOperation::read, false) == (transport == Transport::rc ? 0 : EINVAL));
    CHECK(post(SendOperation::read, true) == EINVAL);
  });
}

}  // namespace
}  // namespace rkv::test
