// What a message takes on an RNIC, worked out by hand from round_nic(): each step's end, in nanoseconds.
#include <catch2/catch.hpp>

#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

struct Times {
  Ps received = 0;
  Ps sent = 0;
};

Times one_message(const NicProfile& nic, Transport transport, bool inlined, const NetworkProfile& network) {
  Rnics cards(nic, network);
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.send(0, ends, hundred_bytes, true, inlined) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  REQUIRE(cards.sends.seen.size() == 1);
  return {cards.receives.seen[0].at / ns, cards.sends.seen[0].at / ns};
}

Times one_message(Transport transport, bool inlined) {
  return one_message(round_nic(), transport, inlined, round_network());
}

TEST_CASE("one message alone takes the sum of its steps", "[nic]") {
  SECTION("UC, inlined") {
    // unit 50, doorbell 90, PCIe 290, link 345 (110 bytes), cable 445, unit 515, descriptor 540 (15 + 2 x 5),
    // payload and completion 704, PCIe 904; sent: 345 + 200
    const Times times = one_message(Transport::uc, true);
    CHECK(times.received == 904);
    CHECK(times.sent == 545);
  }
  SECTION("UC, payload read by DMA") {
    // 200 + 100 bytes + 200 more, on both, and as the doorbell carries inlined requests only, 200 + 64 + 200
    const Times times = one_message(Transport::uc, false);
    CHECK(times.received == 1868);
    CHECK(times.sent == 1509);
  }
  SECTION("UD, inlined") {
    // unit 60, 300, link 360 (120 bytes), cable 460, unit 540, descriptor 565, DMA 729, PCIe 929
    const Times times = one_message(Transport::ud, true);
    CHECK(times.received == 929);
    CHECK(times.sent == 560);
  }
  SECTION("UD, payload read by DMA") {
    const Times times = one_message(Transport::ud, false);
    CHECK(times.received == 1893);
    CHECK(times.sent == 1524);
  }
  SECTION("RC, inlined") {
    // unit 55, 295, link 351 (112 bytes), cable 451, unit 516, descriptor 541, DMA 705, PCIe 905
    // acknowledgement: unit 516 + 30, link 556 (20 bytes), cable 656, unit 686, PCIe 886
    const Times times = one_message(Transport::rc, true);
    CHECK(times.received == 905);
    CHECK(times.sent == 886);
  }
  SECTION("RC, payload read by DMA") {
    const Times times = one_message(Transport::rc, false);
    CHECK(times.received == 1869);
    CHECK(times.sent == 1850);
  }
}

TEST_CASE("making an acknowledgement and taking it may cost different times", "[nic]") {
  NicProfile nic = round_nic();
  nic.rc.ack = 10'000;
  nic.rc.take_ack = 400'000;
  // Unit 516 + 10, link 536 (20 bytes), cable 636, unit 1036, PCIe 1236; without, 886 where both take 30.
  const Times times = one_message(nic, Transport::rc, true, round_network());
  CHECK(times.received == 905);
  CHECK(times.sent == 1236);
}

TEST_CASE("a doorbell that does not carry the request adds a DMA read of it", "[nic]") {
  NicProfile nic = round_nic();
  nic.doorbell_carries_request = false;
  const Times times = one_message(nic, Transport::uc, true, round_network());
  CHECK(times.received == 904 + 200 + 64 + 200);
  CHECK(times.sent == 545 + 464);
}

NicProfile nic_with_receive_record() {
  NicProfile nic = round_nic();
  nic.receive_record = true;
  return nic;
}

TEST_CASE("a receive that the card has not seen adds two DMA reads, behind which RC acknowledges", "[nic]") {
  constexpr int look = 2 * 2 * 200;
  const Times uc = one_message(nic_with_receive_record(), Transport::uc, true, round_network());
  CHECK(uc.received == 904 + look);
  CHECK(uc.sent == 545);
  const Times rc = one_message(nic_with_receive_record(), Transport::rc, true, round_network());
  CHECK(rc.received == 905 + look);
  CHECK(rc.sent == 886 + look);
}

TEST_CASE("a look shows the card the receives that are posted by then", "[nic]") {
  Rnics cards(nic_with_receive_record());
  const auto ends = cards.link(Transport::uc);
  const Ps visible = GENERATE(445, 446) * ns;  // the third one; the first message is there at 445
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id) == 0);
  REQUIRE(cards.receive(ends, 2, 4096, visible) == 0);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.send(0, ends, hundred_bytes, true, true, id) == 0);
  REQUIRE(cards.send(10'000 * ns, ends, hundred_bytes, true, true, 2) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 3);
  // The first: cable 445, looks until 1245, unit 1315, descriptor 1340, DMA 1504, PCIe. The second, at 500,
  // waits for the same look; unit 1385, descriptor 1410, DMA from 1504 to 1668.
  CHECK(cards.receives.seen[0].at == 1704 * ns);
  CHECK(cards.receives.seen[1].at == 1868 * ns);
  CHECK(cards.receives.seen[2].at == (10'904 + (visible > 445 * ns ? 800 : 0)) * ns);
}

TEST_CASE("each packet of a message has a header", "[nic]") {
  NetworkProfile network = round_network();
  network.mtu_bytes = 40;  // 3 packets: 20 bytes of headers more
  CHECK(one_message(round_nic(), Transport::uc, true, network).received == 904 + 10);
}

TEST_CASE("what a message is not charged for is as if it did not exist", "[nic]") {
  NicProfile nic = round_nic();
  nic.pcie_latency = 0;
  nic.doorbell = 0;
  nic.receive_fetch = nic.receive_fetch_an_sge = 0;
  nic.uc.send = nic.uc.receive = 0;
  // the link, and 164 bytes over PCIe
  CHECK(one_message(nic, Transport::uc, true, round_network()).received == 55 + 100 + 164);
}

TEST_CASE("two messages queue at the unit, at the link and at PCIe", "[nic]") {
  Rnics cards;
  const auto ends = cards.link(Transport::uc);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id) == 0);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.send(0, ends, hundred_bytes, true, true, id) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 2);
  REQUIRE(cards.sends.seen.size() == 2);
  // The second: unit 100, PCIe 340, link from 345 to 400, cable 500, unit from 515 to 585, descriptor 610,
  // DMA from 704 to 868, PCIe 1068; sent: 400 + 200
  CHECK(cards.receives.seen[0].at == 904 * ns);
  CHECK(cards.receives.seen[1].at == 1068 * ns);
  CHECK(cards.sends.seen[0].at == 545 * ns);
  CHECK(cards.sends.seen[1].at == 600 * ns);

  const SpentTimes& spent = cards.world.spent();
  CHECK(spent.of(Spent::nic_queue) == (50 + 15 + 94) * ns);
  CHECK(spent.of(Spent::wire) == (155 + 160) * ns);
  CHECK(spent.of(Spent::doorbell) == 2 * 40 * ns);
  // PCIe of the doorbell, send, receive, descriptor, DMA, PCIe; completion of the send
  CHECK(spent.of(Spent::nic) == 2 * (200 + 50 + 70 + 25 + 164 + 200 + 200) * ns);
}

TEST_CASE("two units work on two messages at a time", "[nic]") {
  NicProfile nic = round_nic();
  nic.processing_units = 2;
  Rnics cards(nic);
  const auto first = cards.link(Transport::uc);
  const auto second = cards.link(Transport::uc);
  REQUIRE(cards.receive(first, 0) == 0);
  REQUIRE(cards.receive(second, 1) == 0);
  REQUIRE(cards.send(0, first, hundred_bytes) == 0);
  REQUIRE(cards.send(0, second, hundred_bytes) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  // Both reach the link at 290 and pass it one after the other.
  CHECK(cards.sends.seen[0].at == 545 * ns);
  CHECK(cards.sends.seen[1].at == 600 * ns);
}

TEST_CASE("a short message waits for a long one of its queue pair, not for another's", "[nic]") {
  Rnics cards;
  const auto one = cards.link(Transport::uc);
  const auto other = cards.link(Transport::uc);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(one, id) == 0);
  REQUIRE(cards.receive(other, 2) == 0);
  const std::string long_text(1000, 'y');
  REQUIRE(cards.send(0, one, long_text, true, false, 10) == 0);  // ready at 464 + 50 + 1400 + 240 = 2154
  REQUIRE(cards.send(0, one, "s", true, true, 11) == 0);
  REQUIRE(cards.send(0, other, "s", true, true, 12) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 3);
  CHECK(cards.sends.seen[0].finished.completion.id == 12);
  CHECK(cards.sends.seen[0].at == 100 * ns + 240 * ns + 5'500 + 200 * ns);  // 11 bytes on the link
  CHECK(cards.sends.seen[1].finished.completion.id == 10);
  CHECK(cards.sends.seen[1].at == (2154 + 505 + 200) * ns);
  CHECK(cards.sends.seen[2].finished.completion.id == 11);
  CHECK(cards.sends.seen[2].at == (2154 + 505 + 200) * ns + 5'500);
}

TEST_CASE("a context that is not on the card delays its request, and no other", "[nic]") {
  NicProfile nic = round_nic();
  nic.qp_cache = {.entries = 16, .policy = CacheProfile::Policy::lru, .miss = 700 * ns};
  Rnics cards(nic);
  const auto known = cards.link(Transport::uc);
  const auto fresh = cards.link(Transport::uc);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(known, id) == 0);
  REQUIRE(cards.receive(fresh, 2) == 0);
  REQUIRE(cards.send(0, known, hundred_bytes, true, true, 10) == 0);
  constexpr Ps later = 100'000 * ns;
  REQUIRE(cards.send(later, fresh, hundred_bytes, true, true, 11) == 0);
  REQUIRE(cards.send(later, known, hundred_bytes, true, true, 12) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 3);
  CHECK(cards.sends.seen[0].at == (545 + 700) * ns);
  CHECK(cards.sends.seen[1].finished.completion.id == 12);
  CHECK(cards.sends.seen[1].at == later + 545 * ns);
  CHECK(cards.sends.seen[2].at == later + (545 + 700) * ns);
  REQUIRE(cards.receives.seen.size() == 3);
  CHECK(cards.receives.seen[0].at == (904 + 2 * 700) * ns);  // missed on both cards
  CHECK(cards.world.spent().of(Spent::context_miss) == 4 * 700 * ns);
  CHECK(cards.a.contexts().misses() == 2);
  CHECK(cards.b.contexts().misses() == 2);
}

TEST_CASE("a page that is not on the card delays the payload that is in it", "[nic]") {
  NicProfile nic = round_nic();
  nic.translation_cache = {.entries = 4, .policy = CacheProfile::Policy::lru, .miss = 800 * ns};
  const Times inlined = one_message(nic, Transport::uc, true, round_network());
  CHECK(inlined.sent == 545);
  // The receiver's is fetched while the unit works, from 445 on.
  CHECK(inlined.received == 445 + 800 + 25 + 164 + 200);
  CHECK(one_message(nic, Transport::uc, false, round_network()).sent == 1509 + 800);
}

TEST_CASE("an unsignalled send makes no completion and costs three events", "[nic]") {
  const Transport transport = GENERATE(Transport::uc, Transport::ud);
  Rnics cards;
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.send(0, ends, hundred_bytes, false) == 0);
  cards.run();
  CHECK(cards.sends.seen.empty());
  CHECK(cards.receives.seen.size() == 1);
  CHECK(cards.world.events_handled() == 1 + 3);  // rung by the test's own
}

}  // namespace
}  // namespace rkv::sim::test
