// RoCEv2 packets of soft0's wire, judged by those that the kernel's rdma_rxe sent (data/rxe.pcap).
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>
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
    Bytes little_endian(all.begin() + static_cast<std::ptrdiff_t>(at) + 8,
                        all.begin() + static_cast<std::ptrdiff_t>(at) + 12);
    std::ranges::reverse(little_endian);
    const std::uint32_t length = number(little_endian);
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

// Without its ICRC, whose place is there.
Bytes datagram_of(const Packet& packet) {
  Bytes datagram(packet_bytes(packet));
  build(packet, datagram);
  return datagram;
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
    Bytes again = datagram_of(*packet);
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

// What the kernel's packets must say, since perftest asked for it (data/traffic) or the queue pair was new.
TEST_CASE("the kernel's packets mean what they were sent for", "[wire]") {
  std::set<std::pair<Service, Operation>> judged;
  for (const Captured& each : captured()) {
    CHECK(each.path.destination_port == udp_port);
    const Packet packet = parse(each.datagram).value();
    CHECK(packet.partition == default_partition);
    CHECK(packet.destination > 0);
    CHECK(packet.destination < 1'000);  // queue pairs are numbered from 17
    const std::pair kind{packet.service, packet.operation};
    if (packet.operation == Operation::write_first) {
      CHECK(packet.length == 1002);
      CHECK(packet.payload.size() == 256);
      CHECK(packet.remote_key > 0);
      CHECK(packet.remote_address % 64 == 0);
    } else if (packet.operation == Operation::write_only) {
      CHECK(packet.length == 99);
      CHECK(packet.payload.size() == 99);
    } else if (packet.operation == Operation::read_request) {
      CHECK(packet.length == 98);
      CHECK(packet.wants_acknowledgement);
    } else if (packet.operation == Operation::read_response_only) {
      CHECK(packet.payload.size() == 98);
      CHECK((packet.syndrome >> 5) == 0);  // an ACK
    } else if (packet.operation == Operation::acknowledge) {
      CHECK(packet.syndrome == 0x1f);  // an ACK without credits
      CHECK(packet.message_number == 1);
    } else if (packet.operation == Operation::fetch_add) {
      CHECK(packet.swap_or_add == 1);
      CHECK(packet.compare == 0);
    } else if (packet.service == Service::ud) {
      CHECK(packet.queue_key == 0x11111111);
      CHECK(packet.source > 0);
      CHECK(packet.source < 1'000);
      CHECK(packet.payload.size() == 103);
    } else {
      continue;
    }
    judged.insert(kind);
  }
  CHECK(judged.size() == 9);
}

// By the figures of the specification, 9.2 and 9.3, written down by hand.
TEST_CASE("each field has its place", "[wire]") {
  const auto bytes = [](std::initializer_list<int> values) {
    Bytes made;
    for (const int value : values) made.push_back(static_cast<std::byte>(value));
    return made;
  };
  const Bytes payload = bytes({0xd1, 0xd2, 0xd3});
  Packet packet;
  packet.solicited = true;
  packet.wants_acknowledgement = true;
  packet.partition = 0x1112;
  packet.destination = 0x212223;
  packet.sequence_number = 0x313233;
  packet.queue_key = 0x41424344;
  packet.source = 0x515253;
  packet.remote_address = 0x6162636465666768;
  packet.remote_key = 0x71727374;
  packet.length = 0x81828384;
  packet.swap_or_add = 0x9192939495969798;
  packet.compare = 0xa1a2a3a4a5a6a7a8;
  packet.syndrome = 0xb1;
  packet.message_number = 0xb2b3b4;
  packet.original = 0xc1c2c3c4c5c6c7c8;
  packet.immediate = 0xe1e2e3e4;
  packet.payload = payload;
  const auto built = [&](Service service, Operation operation) {
    packet.service = service;
    packet.operation = operation;
    Bytes datagram = datagram_of(packet);
    datagram.resize(datagram.size() - icrc_bytes);
    return datagram;
  };
  // One byte of padding: bits 4 and 5 of the second byte; "migrated" is bit 6, "solicited" bit 7.
  CHECK(built(Service::rc, Operation::write_only_immediate) ==
        bytes({0x0b, 0xd0, 0x11, 0x12, 0,    0x21, 0x22, 0x23, 0x80, 0x31, 0x32, 0x33,  //
               0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x71, 0x72, 0x73, 0x74,  //
               0x81, 0x82, 0x83, 0x84, 0xe1, 0xe2, 0xe3, 0xe4, 0xd1, 0xd2, 0xd3, 0}));
  CHECK(built(Service::rc, Operation::compare_swap) ==
        bytes({0x13, 0xc0, 0x11, 0x12, 0,    0x21, 0x22, 0x23, 0x80, 0x31, 0x32, 0x33,  //
               0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x71, 0x72, 0x73, 0x74,  //
               0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98,                          //
               0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8}));
  CHECK(built(Service::rc, Operation::atomic_acknowledge) ==
        bytes({0x12, 0xc0, 0x11, 0x12, 0,    0x21, 0x22, 0x23, 0x80, 0x31, 0x32, 0x33,  //
               0xb1, 0xb2, 0xb3, 0xb4, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8}));
  CHECK(built(Service::ud, Operation::send_only_immediate) ==
        bytes({0x65, 0xd0, 0x11, 0x12, 0, 0x21, 0x22, 0x23, 0x80, 0x31, 0x32, 0x33,  //
               0x41, 0x42, 0x43, 0x44, 0, 0x51, 0x52, 0x53, 0xe1, 0xe2, 0xe3, 0xe4, 0xd1, 0xd2, 0xd3, 0}));
  CHECK(built(Service::uc, Operation::send_last_immediate) ==
        bytes({0x23, 0xd0, 0x11, 0x12, 0,    0x21, 0x22, 0x23, 0x80, 0x31, 0x32, 0x33,  //
               0xe1, 0xe2, 0xe3, 0xe4, 0xd1, 0xd2, 0xd3, 0}));
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
    Bytes datagram = random.bytes(16 + random.below(i % 16 == 0 ? 10'000 : 300));
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
    Ipv4Path guess = path;
    guess.identification = random.any<std::uint16_t>();
    std::uint16_t found = 0;
    CHECK(integrity(guess, datagram, &found) != Integrity::broken);
    CHECK(found == number(std::span(ipv4).subspan(4, 2)));
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
    const Bytes datagram = datagram_of(packet);
    REQUIRE(datagram.size() % 4 == 0);
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
    const Bytes datagram = datagram_of(packet);
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
