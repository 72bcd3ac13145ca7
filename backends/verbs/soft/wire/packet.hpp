// RoCEv2 packets, as they lie in a UDP datagram to port 4791: the base transport header, the extended headers
// that its opcode asks for, the payload, its padding to four bytes, and the invariant CRC (icrc.hpp).
//
// Source of the formats: InfiniBand Architecture Specification, volume 1, chapter 9 (9.2 base transport
// header, 9.3 extended headers, table 38 the headers of each opcode), annex A17 (RoCEv2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rkv::soft::wire {

inline constexpr std::uint16_t udp_port = 4791;
inline constexpr std::size_t base_header_bytes = 12;
inline constexpr std::size_t icrc_bytes = 4;
inline constexpr std::uint16_t default_partition = 0xffff;

// The upper three bits of an opcode.
enum class Service : std::uint8_t { rc = 0, uc = 1, ud = 3 };

// The lower five bits. UC knows those up to write_only_immediate, UD send_only and send_only_immediate.
enum class Operation : std::uint8_t {
  send_first = 0,
  send_middle = 1,
  send_last = 2,
  send_last_immediate = 3,
  send_only = 4,
  send_only_immediate = 5,
  write_first = 6,
  write_middle = 7,
  write_last = 8,
  write_last_immediate = 9,
  write_only = 10,
  write_only_immediate = 11,
  read_request = 12,
  read_response_first = 13,
  read_response_middle = 14,
  read_response_last = 15,
  read_response_only = 16,
  acknowledge = 17,
  atomic_acknowledge = 18,
  compare_swap = 19,
  fetch_add = 20,
};

// One packet. Which of the extended fields mean something is the operation's matter (headers_of); the others
// are 0. All numbers are in the host's byte order.
struct Packet {
  Service service = Service::rc;
  Operation operation = Operation::send_only;
  bool solicited = false;
  bool wants_acknowledgement = false;
  std::uint16_t partition = default_partition;
  std::uint32_t destination = 0;      // queue pair, 24 bits
  std::uint32_t sequence_number = 0;  // PSN, 24 bits
  // Datagram header
  std::uint32_t queue_key = 0;
  std::uint32_t source = 0;  // queue pair, 24 bits
  // RDMA header, and that of atomics, which have no length
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t length = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  // Acknowledge headers
  std::uint8_t syndrome = 0;
  std::uint32_t message_number = 0;  // MSN, 24 bits
  std::uint64_t original = 0;        // an atomic's result
  std::uint32_t immediate = 0;
  // Without padding. Of a packet that was parsed it lies in the datagram; one that is built is copied from
  // here.
  std::span<const std::byte> payload;
};

// The extended headers of an operation, in the order of the packet.
struct Headers {
  bool datagram = false;
  bool rdma = false;
  bool atomic = false;
  bool acknowledge = false;
  bool atomic_acknowledge = false;
  bool immediate = false;
  bool payload = false;  // may it have one
};
// Nothing: the service has no such operation.
[[nodiscard]] const std::optional<Headers>& headers_of(Service service, Operation operation);

// Bytes in front of the payload.
[[nodiscard]] std::size_t header_bytes(const Headers& headers);

// Bytes of the whole datagram, padding and ICRC included.
[[nodiscard]] std::size_t packet_bytes(const Packet& packet);

// Writes all but the ICRC, whose place are the last four of packet_bytes() bytes, which `out` must have. The
// operation must be one of the service.
void build(const Packet& packet, std::span<std::byte> out);

// A datagram from the network, with its ICRC, which is not checked here. Nothing: it is none of these
// packets, too short for its headers, of another version, or has a payload or a padding that its operation
// does not. Touches no byte outside the datagram; the packet's payload points into it.
[[nodiscard]] std::optional<Packet> parse(std::span<const std::byte> datagram);

}  // namespace rkv::soft::wire
