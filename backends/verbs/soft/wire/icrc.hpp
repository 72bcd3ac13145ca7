// The invariant CRC of a RoCEv2 packet over IPv4 without options: Ethernet's CRC-32 over eight bytes of ones,
// the IPv4 and UDP headers and the packet, with ones for what routers may change (type of service, time to
// live, both checksums, the fifth byte of the base transport header). Source: InfiniBand Architecture
// Specification, volume 1, annex A17.3.3 and 7.8.1.
//
// A UDP socket does not show a datagram's IPv4 identification, nor its "don't fragment" flag, which the CRC
// covers. An unconnected socket with IP_PMTUDISC_DO sends identification 0 with the flag set, and 0, 1, 2,
// ... of what the kernel cuts into datagrams for it (UDP_SEGMENT); a connected one counts up
// (send_socket.hpp). So what comes next is guessed first. A packet from elsewhere may have any other. CRC is
// linear: the difference that other bits there make is undone through all bytes behind them, and must then be
// in those bits alone. So 2^17 of the 2^32 values of the ICRC may be right: a packet that was damaged at
// random passes for one from elsewhere with a probability of 2^-15 instead of 2^-32, and at one in some ten
// thousand places a single wrong bit does. The UDP checksum, where the sender sets it, is checked besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv::soft::wire {

// Where a datagram comes from and goes to. In the host's byte order.
struct Ipv4Path {
  std::uint32_t source_address = 0;
  std::uint32_t destination_address = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t identification = 0;  // of the IPv4 header, as far as it is known
};

// Of a packet without its last four bytes, at least base_header_bytes long, in a datagram with the flag set.
[[nodiscard]] std::uint32_t icrc(const Ipv4Path& path, std::span<const std::byte> packet);

// Writes it into the last four bytes of the datagram, which has at least 16.
void seal(const Ipv4Path& path, std::span<std::byte> datagram);

enum class Integrity {
  broken,
  whole,                             // with the path's identification and the flag
  whole_if_of_other_identification,  // or without the flag
};

// Of a datagram, by its last four bytes. One of fewer than 16 bytes is broken. What identification it must
// have is said where that is asked for, unless it is broken.
[[nodiscard]] Integrity integrity(const Ipv4Path& path, std::span<const std::byte> datagram,
                                  std::uint16_t* identification = nullptr);

}  // namespace rkv::soft::wire
