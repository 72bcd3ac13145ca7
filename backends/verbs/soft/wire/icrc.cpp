#include "backends/verbs/soft/wire/icrc.hpp"

#include <libdeflate.h>

#include <array>

#include "backends/verbs/soft/wire/byte_writer.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {
namespace {

constexpr std::size_t ones_bytes = 8;  // for the local route header that RoCE does not have
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t udp_bytes = 8;
constexpr std::size_t identification_at = ones_bytes + 4;
constexpr std::size_t reserved_at = 4;  // in the base transport header
constexpr std::size_t front_bytes = ones_bytes + ipv4_bytes + udp_bytes + base_header_bytes;
constexpr std::byte ones{0xff};
constexpr std::uint32_t polynomial = 0xedb88320;  // CRC-32, the lowest bit first
// The bits of the identification, and behind them the flag, as they enter the register: the first byte
// lowest.
constexpr std::uint32_t unknown_bits = 0x40'ff'ff;

// All in front of the packet's extended headers, with ones where they belong.
std::array<std::byte, front_bytes> front(const Ipv4Path& path, std::span<const std::byte> packet) {
  std::array<std::byte, front_bytes> bytes{};
  const auto udp_length = static_cast<std::uint16_t>(udp_bytes + packet.size() + icrc_bytes);
  ByteWriter writer(bytes);
  writer.fill(ones, ones_bytes);
  writer.put(std::uint8_t{0x45});
  writer.fill(ones, 1);  // type of service
  writer.put(static_cast<std::uint16_t>(ipv4_bytes + udp_length));
  writer.put(path.identification);
  writer.put(std::uint16_t{0x4000});  // do not fragment
  writer.fill(ones, 1);               // time to live
  writer.put(std::uint8_t{17});       // UDP
  writer.fill(ones, 2);               // checksum
  writer.put(path.source_address);
  writer.put(path.destination_address);
  writer.put(path.source_port);
  writer.put(path.destination_port);
  writer.put(udp_length);
  writer.fill(ones, 2);  // checksum
  writer.put(packet.first(base_header_bytes));
  bytes[front_bytes - base_header_bytes + reserved_at] = ones;
  return bytes;
}

std::uint32_t crc(std::uint32_t before, std::span<const std::byte> bytes) {
  return libdeflate_crc32(before, bytes.data(), bytes.size());
}

// The register before a byte of zeros went through it, by the register's highest byte behind it.
constexpr std::array<std::uint32_t, 256> make_undo_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t low = 0; low < 256; ++low) {
    std::uint32_t value = low;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
    table[value >> 24] = value << 8 | low;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> undo_table = make_undo_table();

std::uint32_t undo(std::uint32_t value, std::size_t zeros) {
  while (zeros-- > 0) value = value << 8 ^ undo_table[value >> 24];
  return value;
}

}  // namespace

std::uint32_t icrc(const Ipv4Path& path, std::span<const std::byte> packet) {
  return crc(crc(0, front(path, packet)), packet.subspan(base_header_bytes));
}

// The lowest byte first, as the CRC of an Ethernet frame.
void seal(const Ipv4Path& path, std::span<std::byte> datagram) {
  const std::span<std::byte> packet = datagram.first(datagram.size() - icrc_bytes);
  const std::uint32_t value = icrc(path, packet);
  for (std::size_t i = 0; i < icrc_bytes; ++i) {
    datagram[packet.size() + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

Integrity integrity(const Ipv4Path& path, std::span<const std::byte> datagram) {
  if (datagram.size() < base_header_bytes + icrc_bytes) return Integrity::broken;
  const std::span<const std::byte> packet = datagram.first(datagram.size() - icrc_bytes);
  std::uint32_t difference = icrc(path, packet);
  for (std::size_t i = 0; i < icrc_bytes; ++i) {
    difference ^= std::to_integer<std::uint32_t>(datagram[packet.size() + i]) << (8 * i);
  }
  if (difference == 0) return Integrity::whole;
  const std::size_t behind = front_bytes - identification_at + packet.size() - base_header_bytes;
  return (undo(difference, behind) & ~unknown_bits) == 0 ? Integrity::whole_if_of_other_identification
                                                         : Integrity::broken;
}

}  // namespace rkv::soft::wire
