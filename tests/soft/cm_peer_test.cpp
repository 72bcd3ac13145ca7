// Peers that the test plays, over the TCP connection of a set-up: they say nonsense, too little, or go away.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <random>
#include <span>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/soft/cm/message.hpp"
#include "tests/soft/cm_fixture.hpp"

namespace rkv::cm_test {
namespace {

using soft::cm::Kind;
using soft::cm::Message;
using verbs::FileDescriptor;

std::vector<std::byte> bytes_of(const Message& message) {
  std::array<std::byte, soft::cm::max_message_bytes> bytes;
  const std::size_t count = soft::cm::encode(message, bytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

Message message_of(Kind kind) {
  Message message;
  message.kind = kind;
  message.qp_num = 0x99;
  message.private_data.bytes = kind == Kind::request ? 3 : 0;
  return message;
}

FileDescriptor connect_to(std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in destination = loopback(port);
  REQUIRE(::connect(socket.get(), plain(destination), sizeof destination) == 0);
  return socket;
}

void send(const FileDescriptor& socket, std::span<const std::byte> bytes) {
  REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

// Whether the other side closes the connection.
bool is_closed(const FileDescriptor& socket) {
  pollfd readable{.fd = socket.get(), .events = POLLIN, .revents = 0};
  std::array<std::byte, 512> bytes;
  while (::poll(&readable, 1, kDeadlineMs) == 1) {
    if (::recv(socket.get(), bytes.data(), bytes.size(), 0) <= 0) return true;
  }
  return false;
}

Message receive(const FileDescriptor& socket) {
  std::array<std::byte, soft::cm::max_message_bytes> bytes;
  std::size_t arrived = 0;
  Message message;
  for (;;) {
    const int taken = soft::cm::decode(std::span(bytes).first(arrived), message);
    REQUIRE(taken >= 0);
    if (taken > 0) return message;
    const ssize_t count = ::recv(socket.get(), bytes.data() + arrived, bytes.size() - arrived, 0);
    REQUIRE(count > 0);
    arrived += static_cast<std::size_t>(count);
  }
}

// A listener that is no connection manager's.
struct PlainServer {
  FileDescriptor listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  PlainServer() {
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(listening.get(), plain(address), sizeof address) == 0);
    REQUIRE(::listen(listening.get(), 1) == 0);
    REQUIRE(::getsockname(listening.get(), plain(address), &bytes) == 0);
    port = ntohs(address.sin_port);
  }
  FileDescriptor accept() const { return FileDescriptor(::accept(listening.get(), nullptr, nullptr)); }
};

}  // namespace

TEST_CASE("messages are read as they were written", "[cm]") {
  for (const Kind kind : {Kind::request, Kind::reply, Kind::reject, Kind::ready, Kind::disconnect}) {
    const std::vector<std::byte> bytes = bytes_of(message_of(kind));
    Message read;
    CHECK(soft::cm::decode(bytes, read) == static_cast<int>(bytes.size()));
    CHECK(read.kind == kind);
    CHECK(read.qp_num == 0x99);
    for (std::size_t count = 0; count < bytes.size(); ++count) {
      CHECK(soft::cm::decode(std::span(bytes).first(count), read) == 0);
    }
  }
}

TEST_CASE("numbers out of range are no message", "[cm]") {
  const auto refused = [](auto&& spoil, Kind kind = Kind::request) {
    Message message = message_of(kind);
    spoil(message);
    Message read;
    return soft::cm::decode(bytes_of(message), read) == -1;
  };
  CHECK(refused([](Message& m) { m.kind = static_cast<Kind>(0); }));
  CHECK(refused([](Message& m) { m.kind = static_cast<Kind>(6); }));
  CHECK(refused([](Message& m) { m.port_space = 1; }));
  CHECK(refused([](Message& m) { m.qp_num = 1U << 24; }));
  CHECK(refused([](Message& m) { m.psn = 1U << 24; }));
  CHECK(refused([](Message& m) { m.mtu = 0; }));
  CHECK(refused([](Message& m) { m.mtu = 6; }));
  CHECK(refused([](Message& m) { m.retry_count = 8; }));
  CHECK(refused([](Message& m) { m.rnr_retry_count = 8; }));
  CHECK(refused([](Message& m) { m.private_data.bytes = 57; }));
  CHECK(refused([](Message& m) { m.private_data.bytes = 197; }, Kind::reply));
  CHECK(refused([](Message& m) { m.private_data.bytes = 149; }, Kind::reject));
  CHECK(refused([](Message& m) { m.private_data.bytes = 1; }, Kind::ready));
}

TEST_CASE("a listener outlives whatever connects to it", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    // A message with some bytes changed, cut off somewhere.
    std::vector<std::byte> bytes = bytes_of(message_of(static_cast<Kind>(1 + random() % 5)));
    for (std::uint32_t change = 0; change < 1 + random() % 3; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    bytes.resize(1 + random() % bytes.size());
    send(connect_to(port_of(*listener)), bytes);
  }
  const FileDescriptor nonsense = connect_to(port_of(*listener));
  send(nonsense, std::vector<std::byte>(1'000, std::byte{0x41}));
  CHECK(is_closed(nonsense));
  const FileDescriptor out_of_turn = connect_to(port_of(*listener));
  send(out_of_turn, bytes_of(message_of(Kind::reply)));
  CHECK(is_closed(out_of_turn));

  const FileDescriptor peer = connect_to(port_of(*listener));
  const std::vector<std::byte> request = bytes_of(message_of(Kind::request));
  for (const std::byte& byte : request) {
    send(peer, {&byte, 1});
  }
  for (;;) {  // requests of before that were whole
    REQUIRE(channel.is_readable(kDeadlineMs));
    rdma_cm_event* event = nullptr;
    REQUIRE(rdma_get_cm_event(channel.get(), &event) == 0);
    const EventPtr owned(event);
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    const IdPtr requested(event->id);
    if (event->param.conn.qp_num != 0x99 || event->param.conn.private_data_len != 3) continue;
    if (rdma_reject(requested.get(), nullptr, 0) != 0) continue;
    break;
  }
  CHECK(receive(peer).kind == Kind::reject);
}

TEST_CASE("a peer that goes away before it is accepted is reported", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel);
  { send(connect_to(port_of(*listener)), bytes_of(message_of(Kind::request))); }
  const IdPtr passive(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  CHECK(channel.expect(RDMA_CM_EVENT_REJECTED)->id == passive.get());
  make_queue_pair(*passive);
  expect_error(rdma_accept(passive.get(), nullptr), EINVAL);
}

TEST_CASE("a datagram service that somebody asked for and went away answers all the same", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel, RDMA_PS_UDP);
  Message lookup = message_of(Kind::request);
  lookup.port_space = RDMA_PS_UDP;
  { send(connect_to(port_of(*listener)), bytes_of(lookup)); }
  const IdPtr passive(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  CHECK_FALSE(channel.is_readable(50));
  make_queue_pair(*passive, IBV_QPT_UD);
  CHECK(rdma_accept(passive.get(), nullptr) == 0);
}

TEST_CASE("a connected peer that goes away, or says what makes no sense, is disconnected", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel);
  FileDescriptor peer = connect_to(port_of(*listener));
  send(peer, bytes_of(message_of(Kind::request)));
  const IdPtr passive(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(*passive);
  REQUIRE(rdma_accept(passive.get(), nullptr) == 0);
  CHECK(receive(peer).qp_num == passive->qp->qp_num);
  SECTION("before it is ready") {
    peer = FileDescriptor();
    channel.expect(RDMA_CM_EVENT_UNREACHABLE);
  }
  SECTION("when it is ready") {
    send(peer, bytes_of(message_of(Kind::ready)));
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    SECTION("by going away") {
      peer = FileDescriptor();
    }
    SECTION("by a second request") {
      send(peer, bytes_of(message_of(Kind::request)));
    }
    SECTION("by nonsense") {
      send(peer, std::vector<std::byte>(1'000, std::byte{0}));
    }
    SECTION("by saying so") {
      send(peer, bytes_of(message_of(Kind::disconnect)));
    }
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
    CHECK_FALSE(channel.is_readable(20));
  }
  SECTION("by saying both at once") {
    std::vector<std::byte> bytes = bytes_of(message_of(Kind::ready));
    const std::vector<std::byte> more = bytes_of(message_of(Kind::disconnect));
    bytes.insert(bytes.end(), more.begin(), more.end());
    send(peer, bytes);
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
}

TEST_CASE("a server that is no connection manager is unreachable", "[cm]") {
  const Channel channel;
  const PlainServer server;
  const IdPtr active = make_active(channel, server.port);
  make_queue_pair(*active);
  REQUIRE(rdma_connect(active.get(), nullptr) == 0);
  {
    const FileDescriptor peer = server.accept();
    CHECK(receive(peer).kind == Kind::request);
    SECTION("because it hangs up") {}
    SECTION("because it talks of something else") {
      send(peer, std::vector<std::byte>(64, std::byte{'H'}));
      CHECK(is_closed(peer));
    }
    SECTION("because it says something out of turn") {
      send(peer, bytes_of(message_of(Kind::ready)));
      CHECK(is_closed(peer));
    }
  }
  CHECK(channel.expect(RDMA_CM_EVENT_UNREACHABLE)->status < 0);
}

TEST_CASE("a reply that promises more than soft0 has is cut down", "[cm]") {
  const Channel channel;
  const PlainServer server;
  const IdPtr active = make_active(channel, server.port);
  make_queue_pair(*active);
  REQUIRE(rdma_connect(active.get(), nullptr) == 0);
  const FileDescriptor peer = server.accept();
  receive(peer);
  Message reply = message_of(Kind::reply);
  reply.responder_resources = 255;
  reply.initiator_depth = 255;
  send(peer, bytes_of(reply));
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  CHECK(receive(peer).kind == Kind::ready);
}

}  // namespace rkv::cm_test
