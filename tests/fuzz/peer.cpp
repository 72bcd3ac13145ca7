#include "tests/fuzz/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <span>

#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "tests/fuzz/memory.hpp"
#include "tests/fuzz/require.hpp"

namespace rkv::soft {
namespace {

constexpr std::uint32_t first_address = 0x7f'02'00'01;  // beyond those that soft0 takes by itself
constexpr std::uint32_t addresses = 256;                // one for each fuzzer that runs at once

bool is_response_with_data(wire::Operation operation) {
  return operation >= wire::Operation::read_response_first &&
         operation <= wire::Operation::read_response_only;
}

}  // namespace

Peer::Peer() {
  socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  for (address_ = first_address; address_ < first_address + addresses; ++address_) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(wire::udp_port);
    own.sin_addr.s_addr = htonl(address_);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0) return;
  }
  require(false, "an address for the peer can be bound");
}

wire::Ipv4Path Peer::path() const {
  return {.source_address = address_,
          .destination_address = wire::Endpoint::instance().address(),
          .source_port = wire::udp_port,
          .destination_port = wire::udp_port};
}

std::vector<wire::Packet> Peer::take_sent() {
  std::vector<wire::Packet> sent;
  const wire::Ipv4Path from_there = path();
  for (;;) {
    sockaddr_in sender{};
    socklen_t sender_bytes = sizeof sender;
    const auto got = ::recvfrom(socket_, buffer_.data(), buffer_.size(), 0,
                                reinterpret_cast<sockaddr*>(&sender), &sender_bytes);
    if (got < 0) return sent;
    if (got == 0) continue;  // a new socket looked at its numbering
    const wire::Ipv4Path to_there{.source_address = from_there.destination_address,
                                  .destination_address = from_there.source_address,
                                  .source_port = ntohs(sender.sin_port),
                                  .destination_port = wire::udp_port};
    const auto datagram = std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(got));
    auto packet = wire::parse(datagram);
    require(packet.has_value(), "what is sent is a packet");
    // What the kernel cut into packets has identifications of its own.
    require(wire::integrity(to_there, datagram) != wire::Integrity::broken, "what is sent is whole");
    require(packet->payload.size() <= limits::path_mtu_bytes, "what is sent is no longer than a path takes");
    if (packet->service == wire::Service::rc && is_response_with_data(packet->operation)) {
      require(!holds_secret(packet->payload), "a READ brings only what may be read");
    }
    packet->payload = {};
    sent.push_back(*packet);
  }
}

}  // namespace rkv::soft
