#include "backends/verbs/soft/wire/icrc.hpp"

#include <isa-l/crc.h>

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
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// The register holds a polynomial over GF(2), the coefficient of x^0 in its highest bit; a byte of zeros
// multiplies it by x^8, modulo CRC-32's.
constexpr std::uint32_t times_x(std::uint32_t value) {
  return value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
}
constexpr std::uint32_t divided_by_x(std::uint32_t value) {
  return (value >> 31) != 0 ? (value ^ polynomial) << 1 | 1 : value << 1;
}

constexpr std::uint32_t product(std::uint32_t left, std::uint32_t right) {
  std::uint32_t sum = 0;
  for (int power = 0; power < 32; ++power) {
    sum ^= right & (0 - (left >> (31 - power) & 1));
    right = times_x(right);
  }
  return sum;
}

// x^-8n at place n: what undoes n bytes of zeros.
constexpr std::size_t undone_bytes_max = 4'608;  // of the largest packet, and more
constexpr std::array<std::uint32_t, undone_bytes_max + 1> inverse_powers = [] {
  std::array<std::uint32_t, undone_bytes_max + 1> powers{};
  std::uint32_t power = std::uint32_t{1} << 31;
  for (std::uint32_t& each : powers) {
    each = power;
    for (int bit = 0; bit < 8; ++bit) power = divided_by_x(power);
  }
  return powers;
}();

// The register before so many bytes of zeros went through it.
std::uint32_t undo(std::uint32_t value, std::size_t zeros) {
  for (; zeros > undone_bytes_max; zeros -= undone_bytes_max) {
    value = product(value, inverse_powers[undone_bytes_max]);
  }
  return product(value, inverse_powers[zeros]);
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

Integrity integrity(const Ipv4Path& path, std::span<const std::byte> datagram,
                    std::uint16_t* identification) {
  if (datagram.size() < base_header_bytes + icrc_bytes) return Integrity::broken;
  const std::span<const std::byte> packet = datagram.first(datagram.size() - icrc_bytes);
  std::uint32_t difference = icrc(path, packet);
  for (std::size_t i = 0; i < icrc_bytes; ++i) {
    difference ^= std::to_integer<std::uint32_t>(datagram[packet.size() + i]) << (8 * i);
  }
  std::uint32_t other_bits = 0;
  if (difference != 0) {
    other_bits = undo(difference, front_bytes - identification_at + packet.size() - base_header_bytes);
    if ((other_bits & ~unknown_bits) != 0) return Integrity::broken;
  }
  if (identification != nullptr) {
    const std::uint32_t other_identification = (other_bits & 0xff) << 8 | (other_bits >> 8 & 0xff);
    *identification = static_cast<std::uint16_t>(path.identification ^ other_identification);
  }
  return difference == 0 ? Integrity::whole : Integrity::whole_if_of_other_identification;
}

}  // namespace rkv::soft::wire
