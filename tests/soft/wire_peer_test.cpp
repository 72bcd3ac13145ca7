// Queue pairs and a peer on the wire that the test plays: answers that come when another implementation, or a
// bad network, would send them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "backends/verbs/soft/wire.h"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/progress.hpp"
#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

namespace wire = soft::wire;

// An address for each process: other runs of these tests send to their peers meanwhile. soft0's own lie
// below.
const std::uint32_t peer_address = 0x7f'03'00'00 | (static_cast<std::uint32_t>(::getpid()) & 0xffff);
constexpr std::uint32_t peer_number = 0x1234;
constexpr std::uint8_t receiver_not_ready_for_82_ms = 0x20 | 26;
constexpr std::uint8_t sequence_error = 0x60;
constexpr std::uint8_t success = 0x1f;

// An endpoint that is connected to the peer. Its sequence numbers begin with 0.
struct Connected {
  explicit Connected(const EndpointOptions& options = {}) : endpoint(device, options) {
    const in_addr peer{.s_addr = htonl(peer_address)};
    ::setenv("RKV_TEST_VIA_ADDRESS", ::inet_ntoa(peer), 1);
    endpoint.ready(peer_number);
  }

  // As many as it takes until this thread has a socket that is connected to the peer, and more. The peer has
  // them all.
  void send_many(const std::function<void()>& see_each) const {
    constexpr std::uint32_t messages = 100;
    ibv_sge sge = endpoint.buffer.sge(0, 8);
    for (std::uint32_t i = 0; i < messages; ++i) {
      endpoint.post(work(IBV_WR_SEND, {&sge, 1}, i));
      see_each();
      acknowledge(i, success);
      CHECK(wait_success(endpoint.send_cq()).wr_id == i);
    }
  }

  // Messages of one size, posted together.
  void send_two(std::uint32_t bytes) const {
    ibv_sge sge = endpoint.buffer.sge(0, bytes);
    ibv_send_wr second = work(IBV_WR_SEND, {&sge, 1}, 2);
    ibv_send_wr first = work(IBV_WR_SEND, {&sge, 1}, 1);
    first.next = &second;
    endpoint.post(first);
  }

  void acknowledge(std::uint32_t sequence_number, std::uint8_t syndrome) const {
    wire::Packet packet;
    packet.operation = wire::Operation::acknowledge;
    packet.sequence_number = sequence_number;
    packet.syndrome = syndrome;
    arrive(packet);
  }

  // From the peer.
  void arrive(wire::Packet packet) const {
    packet.destination = endpoint.number();
    const wire::Ipv4Path path{.source_address = peer_address,
                              .destination_address = wire::Endpoint::instance().address(),
                              .source_port = wire::udp_port,
                              .destination_port = wire::udp_port};
    std::vector<std::byte> datagram(wire::packet_bytes(packet));
    wire::build(packet, datagram);
    wire::seal(path, datagram);
    wire::Progress::handle(path, datagram);
  }

  Device device;
  Endpoint endpoint;
};

rkv_soft_wire_counters counters() {
  rkv_soft_wire_counters now{};
  rkv_soft_get_wire_counters(&now);
  return now;
}

std::uint64_t packets_sent() {
  return counters().packets_sent;
}

// Gives a socket the peer's place, and some patience.
void bind_to_peer(int socket) {
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  REQUIRE(::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(wire::udp_port);
  place.sin_addr.s_addr = htonl(peer_address);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0);
}

// Where the peer's packets arrive.
class PeerSocket {
 public:
  PeerSocket() { bind_to_peer(socket_); }
  PeerSocket(const PeerSocket&) = delete;
  PeerSocket& operator=(const PeerSocket&) = delete;
  ~PeerSocket() { ::close(socket_); }

  // The next one, which must be there, or on its way from another thread. Empty datagrams are none.
  wire::Packet next() {
    ssize_t got = 0;
    while (got == 0) got = ::recv(socket_, datagram_.data(), datagram_.size(), 0);
    REQUIRE(got > 0);
    const auto packet = wire::parse(std::span(datagram_).first(static_cast<std::size_t>(got)));
    REQUIRE(packet);
    return *packet;
  }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::array<std::byte, 8'192> datagram_{};
};

// Sees what arrives for the peer, with its IPv4 and UDP headers.
class HeadersSocket {
 public:
  HeadersSocket() {
    if (is_allowed()) bind_to_peer(socket_);
  }
  HeadersSocket(const HeadersSocket&) = delete;
  HeadersSocket& operator=(const HeadersSocket&) = delete;
  ~HeadersSocket() { ::close(socket_); }

  // It takes the right to raw sockets.
  bool is_allowed() const { return socket_ >= 0; }

  struct Seen {
    wire::Ipv4Path path;
    wire::Integrity integrity = wire::Integrity::broken;
  };
  // Of the next packet; empty datagrams are none.
  Seen next() {
    constexpr std::size_t headers_bytes = 28;
    for (;;) {
      const auto got = ::recv(socket_, bytes_.data(), bytes_.size(), 0);
      REQUIRE(got >= static_cast<ssize_t>(headers_bytes));
      const std::span<const std::byte> datagram =
          std::span(bytes_).first(static_cast<std::size_t>(got)).subspan(headers_bytes);
      if (datagram.empty()) continue;
      const wire::Ipv4Path path{.source_address = number_at(12) << 16 | number_at(14),
                                .destination_address = number_at(16) << 16 | number_at(18),
                                .source_port = static_cast<std::uint16_t>(number_at(20)),
                                .destination_port = static_cast<std::uint16_t>(number_at(22)),
                                .identification = static_cast<std::uint16_t>(number_at(4))};
      return {.path = path, .integrity = wire::integrity(path, datagram)};
    }
  }

 private:
  // Two bytes, the highest first.
  std::uint32_t number_at(std::size_t place) const {
    return std::to_integer<std::uint32_t>(bytes_[place]) << 8 |
           std::to_integer<std::uint32_t>(bytes_[place + 1]);
  }

  const int socket_ = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
  std::array<std::byte, 8'192> bytes_{};
};

// Of this process, while it is there.
class OpenFilesLimit {
 public:
  explicit OpenFilesLimit(rlim_t files) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now{.rlim_cur = files, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  OpenFilesLimit(const OpenFilesLimit&) = delete;
  OpenFilesLimit& operator=(const OpenFilesLimit&) = delete;
  ~OpenFilesLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("a request that waits for a receiver is sent again, whatever else is refused", "[wire]") {
  EndpointOptions options;
  options.timeout = 31;  // hours: not what sends it
  const Connected connected(options);
  const Endpoint& endpoint = connected.endpoint;
  ibv_sge sge = endpoint.buffer.sge(0, 8);
  endpoint.post(work(IBV_WR_SEND, {&sge, 1}, 1));
  const std::uint64_t before = packets_sent();
  connected.acknowledge(0, receiver_not_ready_for_82_ms);
  connected.acknowledge(0, sequence_error);
  CHECK(packets_sent() == before);  // not yet
  REQUIRE(eventually([&] { return packets_sent() > before; }));
  connected.acknowledge(0, success);
  CHECK(wait_success(endpoint.send_cq()).wr_id == 1);
}

TEST_CASE("an acknowledgement goes with the answer", "[wire]") {
  PeerSocket peer;
  EndpointOptions options;
  options.timeout = 31;  // hours: nothing is sent again, however slow this thread is
  const Connected connected(options);
  const Endpoint& endpoint = connected.endpoint;
  std::uint32_t asked = 0;
  // A wire's thread that has just begun looks at what is owed, once, and may be faster.
  REQUIRE(eventually([&] {
    endpoint.post_recv(0, 64);
    wire::Packet question;
    question.operation = wire::Operation::send_only;
    question.wants_acknowledgement = true;
    question.sequence_number = asked;
    connected.arrive(question);
    ibv_sge sge = endpoint.buffer.sge(64, 32);
    endpoint.post(work(IBV_WR_SEND, {&sge, 1}, 1));
    // Nobody has polled.
    const wire::Packet first = peer.next();
    const bool together = first.operation == wire::Operation::send_only;
    const wire::Packet second = peer.next();
    const wire::Packet& acknowledgement = together ? second : first;
    CHECK(acknowledgement.operation == wire::Operation::acknowledge);
    CHECK(acknowledgement.destination == peer_number);
    CHECK(acknowledgement.sequence_number == asked);
    CHECK(acknowledgement.message_number == asked + 1);
    const std::uint64_t before = packets_sent();
    CHECK(wait_success(endpoint.recv_cq()).opcode == IBV_WC_RECV);
    connected.acknowledge(asked, success);
    CHECK(wait_success(endpoint.send_cq()).wr_id == 1);
    wire::Progress::acknowledge_all();
    CHECK(packets_sent() == before);  // not once more
    ++asked;
    return together;
  }));
}

// The kernel cuts what a thread sends into packets of a size that stays set behind them.
TEST_CASE("packets arrive whole, whatever sizes were sent together before", "[wire]") {
  PeerSocket peer;
  EndpointOptions options;
  options.timeout = 31;
  const Connected connected(options);
  const Endpoint& endpoint = connected.endpoint;
  for (const std::uint32_t bytes : {64U, 200U, 32U, 400U}) {
    connected.send_two(bytes);
    CHECK(peer.next().payload.size() == bytes);
    CHECK(peer.next().payload.size() == bytes);
    ibv_sge longer = endpoint.buffer.sge(0, 2 * bytes + 100);
    endpoint.post(work(IBV_WR_SEND, {&longer, 1}, 3));
    CHECK(peer.next().payload.size() == 2 * bytes + 100);
  }
}

TEST_CASE("a thread that can open no socket sends from the process's", "[wire]") {
  PeerSocket peer;
  EndpointOptions options;
  options.timeout = 31;
  const Connected connected(options);
  std::thread([&] {
    const OpenFilesLimit none(0);
    connected.send_two(32);
  }).join();
  CHECK(peer.next().sequence_number == 0);
  CHECK(peer.next().sequence_number == 1);
}

// The system numbers the datagrams of a connected socket, and the ICRC covers the number.
TEST_CASE("a packet's ICRC is right whether its socket is connected or not", "[wire]") {
  const PeerSocket peer;
  HeadersSocket headers;
  if (!headers.is_allowed()) {
    WARN("no raw sockets here (CAP_NET_RAW)");
    return;
  }
  EndpointOptions options;
  options.timeout = 31;
  const Connected connected(options);
  const auto look = [&] {
    std::set<std::uint16_t> identifications;
    std::set<std::uint16_t> ports;
    connected.send_many([&] {
      const HeadersSocket::Seen seen = headers.next();
      CHECK(seen.integrity == wire::Integrity::whole);
      identifications.insert(seen.path.identification);
      ports.insert(seen.path.source_port);
    });
    CHECK(identifications.contains(0));
    CHECK(identifications.size() > 30);
    CHECK(ports.size() == 2);
  };
  std::async(std::launch::async, look).get();  // by a thread whose sockets are new
}

TEST_CASE("what is sent to a peer that was away for a while is not lost", "[wire]") {
  auto peer = std::make_unique<PeerSocket>();
  EndpointOptions options;
  options.timeout = 31;
  const Connected connected(options);
  connected.send_many([&] { static_cast<void>(peer->next()); });
  peer.reset();
  connected.send_two(32);  // the system says that nobody is there, to who sends next
  peer = std::make_unique<PeerSocket>();
  connected.send_two(64);
  CHECK(peer->next().payload.size() == 64);
  CHECK(peer->next().payload.size() == 64);
}

TEST_CASE("the wire's thread learns that somebody polls though no packet comes", "[wire]") {
  const Connected connected;
  ibv_cq* const cq = connected.endpoint.recv_cq();
  REQUIRE(ibv_req_notify_cq(cq, 0) == 0);  // the thread is back at the socket
  const std::uint64_t before = counters().left_to_pollers;
  CHECK(eventually([&] {
    ibv_wc completion{};
    return ibv_poll_cq(cq, 1, &completion) == 0 && counters().left_to_pollers > before;
  }));
}

TEST_CASE("a READ fails at a queue pair that may have none outstanding", "[wire]") {
  EndpointOptions options;
  options.rd_atomic = 0;
  const Connected connected(options);
  const Endpoint& endpoint = connected.endpoint;
  ibv_sge sge = endpoint.buffer.sge(0, 8);
  endpoint.post(remote_work(IBV_WR_RDMA_READ, {&sge, 1}, endpoint.buffer.address(), endpoint.buffer.rkey()));
  CHECK(wait_completion(endpoint.send_cq()).status == IBV_WC_LOC_QP_OP_ERR);
}

}  // namespace rkv::verbs_test
