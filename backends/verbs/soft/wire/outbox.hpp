// Packets on their way to the socket, gathered so that one system call sends several. Those of one size to
// one address go through the kernel as one (UDP_SEGMENT), as long as it takes them so.
//
// Each thread has its own and leaves it empty: whoever adds packets sends them before it goes on to anything
// else. A packet that the system does not take is lost, as on a network.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/verbs/soft/fault/fault_stream.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

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

  // Where the payload of the next packet goes, limits::path_mtu_bytes at most. It becomes invalid with add().
  std::byte* payload_place(Service service, Operation operation);
  // Adds a packet to an address. Its payload, if it has one, lies at payload_place().
  void add(const Packet& packet, std::uint32_t destination, PacketFaults* faults = nullptr);
  void send();
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t packets = 32;
  static constexpr std::size_t slot_bytes = limits::path_mtu_bytes + 128;

  // Packets that go as one, from first to before end.
  struct Train {
    std::size_t first;
    std::size_t end;
  };

  Outbox();
  void count_in(std::size_t bytes, std::uint32_t destination);
  void add_copy(std::span<const std::byte> datagram, std::uint32_t destination);
  std::size_t train_end(std::size_t first) const;
  void seal_packet(std::size_t packet, std::uint16_t identification);
  void send_trains(std::size_t count);
  int send_train(int socket, std::size_t train);
  void send_one_by_one(const Train& train);

  std::size_t count_ = 0;
  std::array<Train, packets> trains_{};
  std::array<mmsghdr, packets> messages_{};  // a train each
  std::array<iovec, packets> places_{};
  std::array<sockaddr_in, packets> destinations_{};
  struct alignas(cmsghdr) Control {
    std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  std::array<Control, packets> controls_{};
  alignas(64) std::array<std::array<std::byte, slot_bytes>, packets> slots_;
};

}  // namespace rkv::soft::wire
