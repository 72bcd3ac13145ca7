// RoCEv2 packets of soft0's wire, judged by those that the kernel's rdma_rxe sent (data/rxe.pcap).
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "backends/verbs/soft/wire/icrc.hpp"
#include "backends/verbs/soft/wire/packet.hpp"
#include "tests/support/repetitions.hpp"

namespace rkv::soft::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t udp_bytes = 8;

std::uint32_t number(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

// An IPv4 packet: its headers, and the datagram.
struct Captured {
  Bytes ipv4;
  Ipv4Path path;
  Bytes datagram;
};

std::vector<Captured> captured() {
  std::ifstream file(RKV_TEST_DATA "/rxe.pcap", std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(text.size() > 24);
  const std::span<const std::byte> all = std::as_bytes(std::span(text));
  std::vector<Captured> packets;
  for (std::size_t at = 24; at < all.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, all.data() + at + 8, sizeof length);
    const auto ip = all.subspan(at + 16 + ethernet_bytes, length - ethernet_bytes);
    const auto udp = ip.subspan(ipv4_bytes);
    const auto datagram = udp.subspan(udp_bytes, number(udp.subspan(4, 2)) - udp_bytes);
    Captured& packet = packets.emplace_back();
    packet.ipv4.assign(ip.begin(), ip.begin() + ipv4_bytes + udp_bytes);
    packet.path = {.source_address = number(ip.subspan(12, 4)),
                   .destination_address = number(ip.subspan(16, 4)),
                   .source_port = static_cast<std::uint16_t>(number(udp.first(2))),
                   .destination_port = static_cast<std::uint16_t>(number(udp.subspan(2, 2)))};
    packet.datagram.assign(datagram.begin(), datagram.end());
    at += 16 + length;
  }
  return packets;
}

// The ICRC bit by bit, by the text of the specification: of all that is covered, as it lay on the wire.
std::uint32_t slow_icrc(Bytes ipv4, std::span<const std::byte> packet) {
  Bytes covered(8, std::byte{0xff});
  for (const std::size_t masked : {1, 8, 10, 11, 26, 27}) ipv4[masked] = std::byte{0xff};
  covered.insert(covered.end(), ipv4.begin(), ipv4.end());
  covered.insert(covered.end(), packet.begin(), packet.end());
  covered[8 + ipv4_bytes + udp_bytes + 4] = std::byte{0xff};
  std::uint32_t value = 0xffffffff;
  for (const std::byte byte : covered) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool odd = ((value ^ std::to_integer<std::uint32_t>(byte) >> bit) & 1) != 0;
      value = value >> 1 ^ (odd ? 0xedb88320 : 0);
    }
  }
  return ~value;
}

void write_icrc(Bytes& datagram, std::uint32_t value) {
  for (std::size_t i = 0; i < icrc_bytes; ++i) {
    datagram[datagram.size() - icrc_bytes + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

bool same(const Packet& a, const Packet& b) {
  return a.service == b.service && a.operation == b.operation && a.solicited == b.solicited &&
         a.wants_acknowledgement == b.wants_acknowledgement && a.partition == b.partition &&
         a.destination == b.destination && a.sequence_number == b.sequence_number &&
         a.queue_key == b.queue_key && a.source == b.source && a.remote_address == b.remote_address &&
         a.remote_key == b.remote_key && a.length == b.length && a.swap_or_add == b.swap_or_add &&
         a.compare == b.compare && a.syndrome == b.syndrome && a.message_number == b.message_number &&
         a.original == b.original && a.immediate == b.immediate && std::ranges::equal(a.payload, b.payload);
}

class Random {
 public:
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  template <typename Number>
  Number any() {
    return static_cast<Number>(engine_());
  }
  std::uint32_t any_24_bits() { return any<std::uint32_t>() & 0xffffff; }
  Bytes bytes(std::size_t count) {
    Bytes made(count);
    for (std::byte& byte : made) byte = static_cast<std::byte>(engine_());
    return made;
  }
  Ipv4Path path() {
    return {any<std::uint32_t>(), any<std::uint32_t>(), any<std::uint16_t>(), any<std::uint16_t>()};
  }
  // With only those fields that its operation has. Its payload is `payload`, or nothing.
  Packet packet(std::span<const std::byte> payload) {
    constexpr std::array services{Service::rc, Service::uc, Service::ud};
    Packet made;
    std::optional<Headers> headers;
    while (!headers) {
      made.service = services[below(services.size())];
      made.operation = static_cast<Operation>(below(32));
      headers = headers_of(made.service, made.operation);
    }
    made.solicited = below(2) == 0;
    made.wants_acknowledgement = below(2) == 0;
    made.partition = any<std::uint16_t>();
    made.destination = any_24_bits();
    made.sequence_number = any_24_bits();
    if (headers->datagram) {
      made.queue_key = any<std::uint32_t>();
      made.source = any_24_bits();
    }
    if (headers->rdma || headers->atomic) {
      made.remote_address = any<std::uint64_t>();
      made.remote_key = any<std::uint32_t>();
    }
    if (headers->rdma) made.length = any<std::uint32_t>();
    if (headers->atomic) {
      made.swap_or_add = any<std::uint64_t>();
      made.compare = any<std::uint64_t>();
    }
    if (headers->acknowledge) {
      made.syndrome = any<std::uint8_t>();
      made.message_number = any_24_bits();
    }
    if (headers->atomic_acknowledge) made.original = any<std::uint64_t>();
    if (headers->immediate) made.immediate = any<std::uint32_t>();
    if (headers->payload) made.payload = payload;
    return made;
  }

 private:
  std::mt19937_64 engine_{20261122};
};

}  // namespace

TEST_CASE("the kernel's packets are understood, and built again byte by byte", "[wire]") {
  std::set<std::pair<Service, Operation>> met;
  for (const Captured& each : captured()) {
    const std::optional<Packet> packet = parse(each.datagram);
    REQUIRE(packet);
    met.emplace(packet->service, packet->operation);
    REQUIRE(packet_bytes(*packet) == each.datagram.size());
    Bytes again(each.datagram.size());
    build(*packet, again);
    // "Migrated" (bit 6 of byte 1) is for path migration; the kernel leaves it 0, adapters send 1.
    again[1] = (again[1] & ~std::byte{0x40}) | (each.datagram[1] & std::byte{0x40});
    // The padding's bytes are anything.
    const auto padding = std::to_integer<std::size_t>(again[1] >> 4 & std::byte{3});
    CHECK(std::equal(again.begin(), again.end() - static_cast<std::ptrdiff_t>(icrc_bytes + padding),
                     each.datagram.begin()));
  }
  // All of RC but the immediates, UC likewise, and UD's SEND.
  CHECK(met.size() == 26);
}

TEST_CASE("a WRITE of the kernel says what perftest asked for", "[wire]") {
  bool found = false;
  for (const Captured& each : captured()) {
    const Packet packet = parse(each.datagram).value();
    if (packet.service != Service::uc || packet.operation != Operation::write_first) continue;
    found = true;
    CHECK(packet.length == 1002);
    CHECK(packet.payload.size() == 256);
    CHECK(packet.partition == default_partition);
    CHECK(each.path.destination_port == udp_port);
  }
  CHECK(found);
}

TEST_CASE("the kernel's ICRC is the specification's, and is taken for right", "[wire]") {
  for (const Captured& each : captured()) {
    const std::span<const std::byte> packet =
        std::span(each.datagram).first(each.datagram.size() - icrc_bytes);
    Bytes sealed = each.datagram;
    write_icrc(sealed, slow_icrc(each.ipv4, packet));
    REQUIRE(sealed == each.datagram);
    REQUIRE(integrity(each.path, each.datagram) != Integrity::broken);

    Ipv4Path other = each.path;
    other.source_address ^= 1;
    CHECK(integrity(other, each.datagram) == Integrity::broken);
    other = each.path;
    other.destination_port ^= 1;
    CHECK(integrity(other, each.datagram) == Integrity::broken);
  }
}

TEST_CASE("a wrong bit breaks a packet of ours, and nearly always passes for none from elsewhere", "[wire]") {
  std::uint64_t flipped = 0;
  std::uint64_t passed = 0;
  for (const Captured& each : captured()) {
    Bytes datagram = each.datagram;
    seal(each.path, datagram);
    REQUIRE(integrity(each.path, datagram) == Integrity::whole);
    for (std::size_t at = 0; at < datagram.size(); ++at) {
      if (at == 4) continue;  // not covered
      for (unsigned bit = 0; bit < 8; ++bit) {
        datagram[at] ^= std::byte{1} << bit;
        const Integrity found = integrity(each.path, datagram);
        CHECK(found != Integrity::whole);
        passed += found == Integrity::broken ? 0 : 1;
        ++flipped;
        datagram[at] ^= std::byte{1} << bit;
      }
    }
  }
  CHECK(passed < flipped / 1'000);
}

TEST_CASE("an ICRC is right for any identification, with and without the flag", "[wire]") {
  Random random;
  for (std::uint64_t i = 0; i < test::repetitions(2'000); ++i) {
    const Ipv4Path path = random.path();
    Bytes datagram = random.bytes(16 + random.below(300));
    const auto length = static_cast<std::uint32_t>(ipv4_bytes + udp_bytes + datagram.size());
    Bytes ipv4(ipv4_bytes + udp_bytes);
    const auto put = [&](std::size_t at, std::uint32_t value, std::size_t bytes) {
      for (std::size_t j = 0; j < bytes; ++j)
        ipv4[at + j] = static_cast<std::byte>(value >> (8 * (bytes - 1 - j)));
    };
    const bool as_ours = i % 4 == 0;
    put(0, 0x45, 1);
    put(2, length, 2);
    put(4, as_ours ? 0 : random.any<std::uint32_t>(), 2);
    put(6, as_ours || random.below(2) == 0 ? 0x4000 : 0, 2);
    put(9, 17, 1);
    put(12, path.source_address, 4);
    put(16, path.destination_address, 4);
    put(20, path.source_port, 2);
    put(22, path.destination_port, 2);
    put(24, length - static_cast<std::uint32_t>(ipv4_bytes), 2);
    const std::uint32_t right = slow_icrc(ipv4, std::span(datagram).first(datagram.size() - icrc_bytes));
    write_icrc(datagram, right);
    const bool is_as_ours = number(std::span(ipv4).subspan(4, 4)) == 0x4000;
    CHECK(integrity(path, datagram) ==
          (is_as_ours ? Integrity::whole : Integrity::whole_if_of_other_identification));
    if (as_ours) {
      Bytes sealed = datagram;
      write_icrc(sealed, ~right);
      seal(path, sealed);
      CHECK(sealed == datagram);
    }
  }
}

TEST_CASE("of random ICRCs about one in 2^15 is taken for right", "[wire]") {
  Random random;
  const Ipv4Path path = random.path();
  Bytes datagram = random.bytes(64);
  int right = 0;
  constexpr std::uint32_t tries = 1 << 18;
  for (std::uint32_t i = 0; i < tries; ++i) {
    write_icrc(datagram, random.any<std::uint32_t>());
    right += integrity(path, datagram) == Integrity::broken ? 0 : 1;
  }
  CHECK(right >= 1);
  CHECK(right <= 30);  // 8 on average
}

TEST_CASE("what is built is what is parsed", "[wire]") {
  Random random;
  for (std::uint64_t i = 0; i < test::repetitions(20'000); ++i) {
    const Bytes payload = random.bytes(random.below(80));
    const Packet packet = random.packet(payload);
    Bytes datagram(packet_bytes(packet));
    REQUIRE(datagram.size() % 4 == 0);
    build(packet, datagram);
    const std::optional<Packet> parsed = parse(datagram);
    REQUIRE(parsed);
    REQUIRE(same(*parsed, packet));
  }
}

TEST_CASE("a packet that is cut short or that no one has is not understood", "[wire]") {
  Random random;
  for (std::uint64_t i = 0; i < test::repetitions(2'000); ++i) {
    const Bytes payload = random.bytes(random.below(20));
    const Packet packet = random.packet(payload);
    Bytes datagram(packet_bytes(packet));
    build(packet, datagram);
    const std::size_t front = header_bytes(headers_of(packet.service, packet.operation).value());
    const std::size_t padding = datagram.size() - icrc_bytes - front - packet.payload.size();
    for (std::size_t length = 0; length < front + padding + icrc_bytes; ++length) {
      const Bytes part(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(length));
      REQUIRE_FALSE(parse(part));
    }
    Bytes longer = datagram;  // no longer a multiple of four
    longer.push_back({});
    REQUIRE_FALSE(parse(longer));
    Bytes of_another_version = datagram;
    of_another_version[1] |= std::byte{1};
    REQUIRE_FALSE(parse(of_another_version));
  }
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    Bytes datagram(64);
    datagram[0] = static_cast<std::byte>(opcode);
    const auto service = static_cast<Service>(opcode >> 5);
    const auto operation = static_cast<Operation>(opcode & 31);
    const std::optional<Headers> headers = headers_of(service, operation);
    CHECK(parse(datagram).has_value() == (headers && headers->payload));
  }
}

TEST_CASE("random bytes are parsed without a look beside them", "[wire]") {
  Random random;
  for (std::uint64_t i = 0; i < test::repetitions(200'000); ++i) {
    const Bytes datagram = random.bytes(random.below(70));  // of exactly that length, for AddressSanitizer
    const std::optional<Packet> packet = parse(datagram);
    (void)integrity({}, datagram);
    if (!packet || packet->payload.empty()) continue;
    REQUIRE(packet->payload.data() >= datagram.data() + base_header_bytes);
    REQUIRE(packet->payload.data() + packet->payload.size() + icrc_bytes <=
            datagram.data() + datagram.size());
  }
}

}  // namespace rkv::soft::wire
