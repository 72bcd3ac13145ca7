// Receives that RC queue pairs have in common.
#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>

#include "tests/port/link.hpp"

namespace rkv::test {
namespace {

constexpr std::uint32_t shared_message_bytes = 40;

ReceiveRequest shared_receive_of(const Side& side, std::uint64_t slot) {
  return {.id = slot,
          .region = side.region.get(),
          .offset = static_cast<std::uint32_t>(slot) * Side::slot_bytes,
          .length = Side::slot_bytes};
}

// Of a server whose receives are shared.
struct TwoConnections {
  explicit TwoConnections(const PortPair& ports)
      : shared(ports.server.device->make_shared_receive_queue(4, 1)),
        first(ports.server, Transport::rc, {.shared_receive_queue = shared.get()}),
        second(ports.server, Transport::rc, {.shared_receive_queue = shared.get()}),
        first_client(ports.client, Transport::rc, {}),
        second_client(ports.client, Transport::rc, {}) {
    connect(ports, first, first_client);
    connect(ports, second, second_client);
  }

  std::unique_ptr<SharedReceiveQueue> shared;
  Side first;
  Side second;
  Side first_client;
  Side second_client;
};

TEST_CASE("each message takes the next of the receives that queue pairs share", "[shared_receives]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    TwoConnections connections(ports);
    auto& [shared, first, second, first_client, second_client] = connections;
    CHECK(first.pair->post_receive(shared_receive_of(first, 0)) == EINVAL);
    const std::array both{shared_receive_of(first, 0), shared_receive_of(first, 1),
                          shared_receive_of(first, 2)};
    REQUIRE(shared->post_receives(both) == 0);

    std::uint64_t expected = 0;
    for (Side* const client : {&first_client, &second_client, &first_client}) {
      Side& server = client == &first_client ? first : second;
      client->payload(0)[0] = static_cast<std::byte>(expected + 1);
      REQUIRE(client->post_send(0, shared_message_bytes) == 0);
      const Taken taken = take(How::spin, *server.receives);
      CHECK(taken.completion.status == CompletionStatus::ok);
      CHECK(taken.completion.id == expected);
      CHECK(taken.completion.bytes == shared_message_bytes);
      CHECK(taken.completion.queue_pair == server.pair->endpoint().queue_pair);
      CHECK(first.payload(expected)[0] == static_cast<std::byte>(expected + 1));
      CHECK(take(How::spin, *client->sends).completion.status == CompletionStatus::ok);
      ++expected;
    }
  });
}

TEST_CASE("a message without a shared receive waits for one, and one that fails leaves the rest",
          "[shared_receives]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    TwoConnections connections(ports);
    auto& [shared, first, second, first_client, second_client] = connections;
    REQUIRE(second_client.post_send(0, shared_message_bytes) == 0);
    std::array<Completion, 1> none;
    const Instant soon = ports.server.runtime->now() + std::chrono::milliseconds(1);
    CHECK(wait(How::spin, *second.receives, none, soon).wake == Wake::deadline);
    REQUIRE(shared->post_receive(shared_receive_of(second, 5)) == 0);
    CHECK(take(How::spin, *second.receives).completion.id == 5);
    CHECK(take(How::spin, *second_client.sends).completion.status == CompletionStatus::ok);

    REQUIRE(shared->post_receive(shared_receive_of(second, 6)) == 0);
    first.pair->fail();
    REQUIRE(second_client.post_send(0, shared_message_bytes) == 0);
    CHECK(take(How::spin, *second.receives).completion.id == 6);
  });
}

TEST_CASE("a shared receive queue holds as many receives as it was made for", "[shared_receives]") {
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const auto shared = ports.server.device->make_shared_receive_queue(4, 1);
    Side side(ports.server, Transport::rc, {.shared_receive_queue = shared.get()});
    for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(shared->post_receive(shared_receive_of(side, i)) == 0);
    CHECK(shared->post_receive(shared_receive_of(side, 4)) == ENOMEM);
  });
}

}  // namespace
}  // namespace rkv::test
