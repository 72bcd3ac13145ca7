// Any bytes as a datagram: the parser looks at nothing beside them, what it understands is built into the
// same bytes again, and a packet that was sealed is whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/verbs/soft/wire/icrc.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "tests/fuzz/require.hpp"

namespace rkv::soft::wire {
namespace {

constexpr Ipv4Path path{.source_address = 0x7f'02'00'01,
                        .destination_address = 0x7f'00'00'01,
                        .source_port = udp_port,
                        .destination_port = udp_port};

// What a packet may have in more than one way, in the way that build() has it: the bit "migrated", the second
// word's reserved byte, the reserved bits of the third, and the padding's bytes. Zeros for the ICRC.
std::vector<std::byte> normal(std::span<const std::byte> datagram, const Packet& packet) {
  constexpr std::byte migrated{0x40};
  constexpr std::size_t flags_at = 1, destination_at = 4, sequence_at = 8;
  std::vector<std::byte> bytes(datagram.begin(), datagram.end());
  bytes[flags_at] |= migrated;
  bytes[destination_at] = {};
  bytes[sequence_at] &= std::byte{0x80};
  const Headers headers = *headers_of(packet.service, packet.operation);
  if (headers.datagram) bytes[base_header_bytes + 4] = {};  // in front of the source
  const std::size_t end = header_bytes(headers) + packet.payload.size();
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end(), std::byte{});
  return bytes;
}

void fuzz(std::span<const std::byte> datagram) {
  (void)integrity(path, datagram);
  const std::optional<Packet> packet = parse(datagram);
  if (!packet) return;
  require(headers_of(packet->service, packet->operation).has_value(), "a service has the operation");
  require(packet_bytes(*packet) == datagram.size(), "the packet has the datagram's length");
  require(packet->payload.empty() || (packet->payload.data() >= datagram.data() &&
                                      packet->payload.data() + packet->payload.size() + icrc_bytes <=
                                          datagram.data() + datagram.size()),
          "the payload lies in the datagram");
  std::vector<std::byte> built(packet_bytes(*packet));
  build(*packet, built);
  require(built == normal(datagram, *packet), "what was parsed is built again");
  seal(path, built);
  require(integrity(path, built) == Integrity::whole, "what was sealed is whole");
  built.back() ^= std::byte{1};
  require(integrity(path, built) != Integrity::whole, "a wrong bit is noticed");
}

}  // namespace
}  // namespace rkv::soft::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rkv::soft::wire::fuzz(std::as_bytes(std::span(data, bytes)));
  return 0;
}
