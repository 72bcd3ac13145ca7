// Packets on their way to the network, gathered so that one system call sends several. Those of one size to
// one address, and a smaller one behind them, go through the kernel as one (UDP_SEGMENT), as long as it takes
// them so.
//
// Each thread has its own and leaves it empty: whoever adds packets sends them before it goes on to anything
// else. A packet that the system does not take is lost, as on a network.
//
// Each has sockets of its own: so the size that the kernel cuts into is the socket's and rarely changes. To
// say it with each message costs sendmsg() and its control data, some tenth of a small message's way. A
// thread that talks to one address gets a socket that is connected to it, which spares another tenth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/verbs/soft/fault/fault_stream.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "backends/verbs/soft/wire/send_socket.hpp"

namespace rkv::soft::wire {

// What befalls the packets of one sender (the requester or the responder of one queue pair): they are lost,
// sent twice, or held back until the next one is sent. Guarded as the sender is.
struct PacketFaults {
  std::uint32_t stream_number = 0;
  FaultStream stream;
  std::vector<std::byte> held;  // empty: none
};

class Outbox {
 public:
  static Outbox& of_this_thread();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Where the payload of the next packet goes, limits::path_mtu_bytes at most. It becomes invalid with add().
  std::byte* payload_place(Service service, Operation operation);
  // Adds a packet to an address. Its payload, if it has one, lies at payload_place().
  void add(const Packet& packet, std::uint32_t destination, PacketFaults* faults = nullptr);
  void send();
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t packets_max = 32;
  static constexpr std::size_t packet_bytes_max = limits::path_mtu_bytes + 128;

  // They lie one behind the other, as the kernel wants them that it cuts.
  struct Waiting {
    std::size_t at;
    std::size_t bytes;
    std::uint32_t destination;
  };

  Outbox();
  std::byte* next_place() { return bytes_.data() + used_bytes_; }
  void count_in(std::size_t bytes, std::uint32_t destination);
  void add_copy(std::span<const std::byte> datagram, std::uint32_t destination);
  std::size_t train_end(std::size_t first) const;
  void send_train(std::size_t first, std::size_t end);
  void consider_connecting(std::uint32_t destination);
  std::size_t send_by(SendSocket& socket, std::size_t first, std::size_t end);
  bool send_as_one(SendSocket& socket, std::size_t first, std::size_t end);
  bool send_whole(SendSocket& socket, const Waiting& packet);
  void seal_packet(const SendSocket& socket, const Waiting& packet, std::size_t before);
  std::span<std::byte> bytes_of(const Waiting& packet) {
    return std::span(bytes_).subspan(packet.at, packet.bytes);
  }

  SendSocket to_anywhere_;
  SendSocket to_one_;
  std::uint32_t last_destination_ = 0;
  std::size_t trains_in_a_row_ = 0;  // to that address, by the socket to anywhere
  bool may_connect_ = true;          // until it can't: asking in vain has its price, too
  std::size_t count_ = 0;
  std::size_t used_bytes_ = 0;
  std::array<Waiting, packets_max> waiting_{};
  alignas(64) std::array<std::byte, packets_max * packet_bytes_max> bytes_;
};

}  // namespace rkv::soft::wire
