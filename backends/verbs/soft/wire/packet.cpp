#include "backends/verbs/soft/wire/packet.hpp"

#include <array>

#include "backends/verbs/soft/wire/byte_reader.hpp"
#include "backends/verbs/soft/wire/byte_writer.hpp"

namespace rkv::soft::wire {
namespace {

constexpr std::uint32_t low_24_bits = 0xffffff;
constexpr unsigned operation_bits = 5;
constexpr std::size_t padding_unit_bytes = 4;
// The second byte of the base transport header
constexpr unsigned solicited_bit = 0x80;
constexpr unsigned migrated_bit = 0x40;
constexpr unsigned padding_shift = 4;
constexpr unsigned padding_mask = 3;
constexpr unsigned version_mask = 0xf;
constexpr std::uint32_t acknowledgement_bit = 1U << 31;
// Sizes of extended headers
constexpr std::size_t datagram_bytes = 8;
constexpr std::size_t rdma_bytes = 16;
constexpr std::size_t atomic_bytes = 28;
constexpr std::size_t acknowledge_bytes = 4;
constexpr std::size_t atomic_acknowledge_bytes = 8;
constexpr std::size_t immediate_bytes = 4;

std::size_t padding_of(std::size_t payload_bytes) {
  return (padding_unit_bytes - payload_bytes % padding_unit_bytes) % padding_unit_bytes;
}

constexpr Headers rc_headers(Operation operation) {
  switch (operation) {
    case Operation::write_first:
    case Operation::write_only:
      return {.rdma = true, .payload = true};
    case Operation::write_only_immediate:
      return {.rdma = true, .immediate = true, .payload = true};
    case Operation::send_last_immediate:
    case Operation::send_only_immediate:
    case Operation::write_last_immediate:
      return {.immediate = true, .payload = true};
    case Operation::read_request:
      return {.rdma = true};
    case Operation::read_response_first:
    case Operation::read_response_last:
    case Operation::read_response_only:
      return {.acknowledge = true, .payload = true};
    case Operation::acknowledge:
      return {.acknowledge = true};
    case Operation::atomic_acknowledge:
      return {.acknowledge = true, .atomic_acknowledge = true};
    case Operation::compare_swap:
    case Operation::fetch_add:
      return {.atomic = true};
    default:  // send_*, write_middle, write_last, read_response_middle
      return {.payload = true};
  }
}

constexpr std::size_t operations = std::size_t{1} << operation_bits;

constexpr std::optional<Headers> find_headers(Service service, Operation operation) {
  switch (service) {
    case Service::rc:
      if (operation > Operation::fetch_add) return {};
      return rc_headers(operation);
    case Service::uc:
      if (operation > Operation::write_only_immediate) return {};
      return rc_headers(operation);
    case Service::ud:
      if (operation != Operation::send_only && operation != Operation::send_only_immediate) return {};
      return Headers{
          .datagram = true, .immediate = operation == Operation::send_only_immediate, .payload = true};
  }
  return {};
}

// Of all services: each packet asks several times.
constexpr std::array<std::optional<Headers>, 256> headers_by_opcode = [] {
  std::array<std::optional<Headers>, 256> table{};
  for (std::size_t opcode = 0; opcode < table.size(); ++opcode) {
    table[opcode] = find_headers(static_cast<Service>(opcode >> operation_bits),
                                 static_cast<Operation>(opcode & (operations - 1)));
  }
  return table;
}();

}  // namespace

const std::optional<Headers>& headers_of(Service service, Operation operation) {
  return headers_by_opcode[static_cast<std::size_t>(service) << operation_bits |
                           static_cast<std::size_t>(operation)];
}

std::size_t header_bytes(const Headers& headers) {
  return base_header_bytes + (headers.datagram ? datagram_bytes : 0) + (headers.rdma ? rdma_bytes : 0) +
         (headers.atomic ? atomic_bytes : 0) + (headers.acknowledge ? acknowledge_bytes : 0) +
         (headers.atomic_acknowledge ? atomic_acknowledge_bytes : 0) +
         (headers.immediate ? immediate_bytes : 0);
}

std::size_t packet_bytes(const Packet& packet) {
  const Headers& headers = *headers_of(packet.service, packet.operation);
  const std::size_t payload = headers.payload ? packet.payload.size() : 0;
  return header_bytes(headers) + payload + padding_of(payload) + icrc_bytes;
}

void build(const Packet& packet, std::span<std::byte> out) {
  const Headers& headers = *headers_of(packet.service, packet.operation);
  const std::size_t padding = headers.payload ? padding_of(packet.payload.size()) : 0;
  ByteWriter writer(out);
  writer.put(static_cast<std::uint8_t>(static_cast<unsigned>(packet.service) << operation_bits |
                                       static_cast<unsigned>(packet.operation)));
  writer.put(static_cast<std::uint8_t>((packet.solicited ? solicited_bit : 0) | migrated_bit |
                                       static_cast<unsigned>(padding) << padding_shift));
  writer.put(packet.partition);
  writer.put(packet.destination & low_24_bits);
  writer.put((packet.sequence_number & low_24_bits) |
             (packet.wants_acknowledgement ? acknowledgement_bit : 0));
  if (headers.datagram) {
    writer.put(packet.queue_key);
    writer.put(packet.source & low_24_bits);
  }
  if (headers.rdma || headers.atomic) {
    writer.put(packet.remote_address);
    writer.put(packet.remote_key);
  }
  if (headers.rdma) writer.put(packet.length);
  if (headers.atomic) {
    writer.put(packet.swap_or_add);
    writer.put(packet.compare);
  }
  if (headers.acknowledge) {
    writer.put(static_cast<std::uint32_t>(packet.syndrome) << 24 | (packet.message_number & low_24_bits));
  }
  if (headers.atomic_acknowledge) writer.put(packet.original);
  if (headers.immediate) writer.put(packet.immediate);
  if (headers.payload) {
    writer.put(packet.payload);
    writer.fill(std::byte{0}, padding);
  }
}

std::optional<Packet> parse(std::span<const std::byte> datagram) {
  if (datagram.size() < base_header_bytes + icrc_bytes) return {};
  ByteReader reader(datagram);
  Packet packet;
  const auto opcode = reader.take<std::uint8_t>();
  packet.service = static_cast<Service>(opcode >> operation_bits);
  packet.operation = static_cast<Operation>(opcode & ((1U << operation_bits) - 1));
  const std::optional<Headers>& headers = headers_of(packet.service, packet.operation);
  const auto flags = reader.take<std::uint8_t>();
  if (!headers || (flags & version_mask) != 0) return {};
  const std::size_t front = header_bytes(*headers);
  const std::size_t padding = flags >> padding_shift & padding_mask;
  if (datagram.size() < front + padding + icrc_bytes) return {};
  const std::size_t payload = datagram.size() - front - padding - icrc_bytes;
  if ((payload + padding) % padding_unit_bytes != 0 || (!headers->payload && payload + padding != 0))
    return {};

  packet.solicited = (flags & solicited_bit) != 0;
  packet.partition = reader.take<std::uint16_t>();
  packet.destination = reader.take<std::uint32_t>() & low_24_bits;
  const auto sequence = reader.take<std::uint32_t>();
  packet.sequence_number = sequence & low_24_bits;
  packet.wants_acknowledgement = (sequence & acknowledgement_bit) != 0;
  if (headers->datagram) {
    packet.queue_key = reader.take<std::uint32_t>();
    packet.source = reader.take<std::uint32_t>() & low_24_bits;
  }
  if (headers->rdma || headers->atomic) {
    packet.remote_address = reader.take<std::uint64_t>();
    packet.remote_key = reader.take<std::uint32_t>();
  }
  if (headers->rdma) packet.length = reader.take<std::uint32_t>();
  if (headers->atomic) {
    packet.swap_or_add = reader.take<std::uint64_t>();
    packet.compare = reader.take<std::uint64_t>();
  }
  if (headers->acknowledge) {
    const auto acknowledge = reader.take<std::uint32_t>();
    packet.syndrome = static_cast<std::uint8_t>(acknowledge >> 24);
    packet.message_number = acknowledge & low_24_bits;
  }
  if (headers->atomic_acknowledge) packet.original = reader.take<std::uint64_t>();
  if (headers->immediate) packet.immediate = reader.take<std::uint32_t>();
  packet.payload = datagram.subspan(front, payload);
  return packet;
}

}  // namespace rkv::soft::wire
