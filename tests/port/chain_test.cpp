// Several work requests posted by one call, and atomic operations.
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

constexpr std::uint32_t sent_bytes = 40;

SendRequest send_of(const Side& side, std::uint64_t slot, bool signalled = true) {
  SendRequest request;
  request.id = slot;
  request.region = side.region.get();
  request.offset = static_cast<std::uint32_t>(slot) * Side::slot_bytes;
  request.length = sent_bytes;
  request.signalled = signalled;
  request.destination = side.peer.get();
  return request;
}

ReceiveRequest receive_of(const Side& side, std::uint64_t slot) {
  return {.id = slot,
          .region = side.region.get(),
          .offset = static_cast<std::uint32_t>(slot) * Side::slot_bytes,
          .length = Side::slot_bytes};
}

TEST_CASE("SENDs and receives that are posted together come in their order", "[chain]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const std::uint64_t count = GENERATE(1U, 2U, 13U);
  with_ports(transport, [&](const PortPair& ports) {
    Side server(ports.server, transport, {});
    Side client(ports.client, transport, {});
    connect(ports, server, client);
    std::vector<ReceiveRequest> receives;
    std::vector<SendRequest> sends;
    for (std::uint64_t i = 0; i < count; ++i) {
      receives.push_back(receive_of(server, i));
      sends.push_back(send_of(client, i, i + 1 == count));
      const std::span own = client.region->bytes().subspan(i * Side::slot_bytes, sent_bytes);
      std::fill(own.begin(), own.end(), static_cast<std::byte>(i + 1));
    }
    REQUIRE(server.pair->post_receives(receives) == 0);
    REQUIRE(client.pair->post_sends(sends) == 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Taken received = take(How::spin, *server.receives);
      CHECK(received.completion.id == i);
      CHECK(received.completion.bytes == sent_bytes);
      CHECK(server.payload(i)[0] == static_cast<std::byte>(i + 1));
      CHECK(server.payload(i)[sent_bytes - 1] == static_cast<std::byte>(i + 1));
    }
    CHECK(take(How::spin, *client.sends).completion.id == count - 1);
  });
}

TEST_CASE("WRITEs, a READ and a SEND in one post", "[chain]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {.one_sided = true});
    connect(ports, server, client);
    REQUIRE(server.post_receive(9) == 0);
    client.region->bytes()[1 * Side::slot_bytes] = std::byte{0x51};
    client.region->bytes()[2 * Side::slot_bytes] = std::byte{0x52};
    std::vector<SendRequest> requests{
        one_sided(SendOperation::write, client, 1, operation_bytes, remote(server, 1)),
        one_sided(SendOperation::write, client, 2, operation_bytes, remote(server, 2)),
        one_sided(SendOperation::read, client, 3, operation_bytes, remote(server, 2)), send_of(client, 4)};
    requests[0].signalled = requests[1].signalled = false;
    REQUIRE(client.pair->post_sends(requests) == 0);
    CHECK(take(How::spin, *client.sends).completion.id == 3);
    CHECK(take(How::spin, *client.sends).completion.id == 4);
    CHECK(take(How::spin, *server.receives).completion.id == 9);
    CHECK(server.region->bytes()[1 * Side::slot_bytes] == std::byte{0x51});
    CHECK(client.region->bytes()[3 * Side::slot_bytes] == std::byte{0x52});
  });
}

TEST_CASE("a post of none or too many is refused, one with an impossible request does nothing", "[chain]") {
  with_ports(Transport::uc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::uc, {});
    Side client(ports.client, Transport::uc, {.depth = 128});
    connect(ports, server, client);
    CHECK(client.pair->post_sends({}) == EINVAL);
    CHECK(client.pair->post_receives({}) == EINVAL);
    CHECK(client.pair->post_sends(std::vector(most_chained + 1, send_of(client, 0))) == EINVAL);
    CHECK(client.pair->post_receives(std::vector(most_chained + 1, receive_of(client, 0))) == EINVAL);
    std::vector<SendRequest> requests(3, send_of(client, 1));
    requests[2].operation = SendOperation::read;
    CHECK(client.pair->post_sends(requests) == EINVAL);
    CHECK(nothing_comes(ports, *client.sends));
  });
}

TEST_CASE("requests in front of one that the queue has no room for are done", "[chain]") {
  with_ports(Transport::uc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::uc, {});
    Side client(ports.client, Transport::uc, {.depth = 16});
    connect(ports, server, client);
    std::vector<SendRequest> requests;  // devices may give a queue more room than was asked for
    for (std::uint64_t i = 0; i < most_chained; ++i) requests.push_back(send_of(client, i));
    REQUIRE(client.pair->post_sends(requests) == ENOMEM);
    for (std::uint64_t i = 0; i < 16; ++i) CHECK(take(How::spin, *client.sends).completion.id == i);
  });
}

TEST_CASE("atomic operations change what they fetch", "[chain]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    REQUIRE(ports.client.device->limits().atomics);
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {.one_sided = true});
    connect(ports, server, client);
    const auto word = [](const Side& side, std::uint32_t slot) {
      std::uint64_t value = 0;
      std::memcpy(&value, side.region->bytes().data() + slot * Side::slot_bytes, sizeof value);
      return value;
    };
    const auto fetched = [&](SendOperation operation, std::uint64_t operand, std::uint64_t swap = 0) {
      SendRequest request = one_sided(operation, client, 1, atomic_bytes, remote(server, 5));
      request.operand = operand;
      request.swap = swap;
      REQUIRE(client.pair->post_send(request) == 0);
      REQUIRE(take(How::spin, *client.sends).completion.status == CompletionStatus::ok);
      return word(client, 1);
    };
    CHECK(fetched(SendOperation::fetch_and_add, 5) == 0);
    CHECK(fetched(SendOperation::fetch_and_add, UINT64_MAX) == 5);
    CHECK(fetched(SendOperation::compare_and_swap, 3, 100) == 4);
    CHECK(fetched(SendOperation::compare_and_swap, 4, 100) == 4);
    CHECK(fetched(SendOperation::fetch_and_add, 0) == 100);
    CHECK(word(server, 5) == 100);
    // Of eight bytes only, and not inlined.
    SendRequest request = one_sided(SendOperation::fetch_and_add, client, 1, 4, remote(server, 5));
    CHECK(client.pair->post_send(request) == EINVAL);
  });
}

TEST_CASE("atomic operations of two queue pairs lose nothing", "[chain]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    constexpr std::uint64_t rounds = 200;
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side other_server(ports.server, Transport::rc, {.one_sided = true});
    Side clients[] = {Side(ports.client, Transport::rc, {.one_sided = true}),
                      Side(ports.client, Transport::rc, {.one_sided = true})};
    connect(ports, server, clients[0]);
    connect(ports, other_server, clients[1]);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      for (const Side& client : clients) {
        SendRequest request =
            one_sided(SendOperation::fetch_and_add, client, 1, atomic_bytes, remote(server, 0));
        request.operand = 1;
        REQUIRE(client.pair->post_sends(std::vector(4, request)) == 0);
      }
      for (const Side& client : clients) {
        for (int k = 0; k < 4; ++k) {
          REQUIRE(take(How::spin, *client.sends).completion.status == CompletionStatus::ok);
        }
      }
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, server.region->bytes().data(), sizeof sum);
    CHECK(sum == 8 * rounds);
  });
}

}  // namespace
}  // namespace rkv::test
