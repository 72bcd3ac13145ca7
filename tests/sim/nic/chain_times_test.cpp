// Requests that are posted together, and atomic operations, on an RNIC: worked out by hand from round_nic()
// as in nic_times_test.cpp.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

constexpr std::size_t bytes = 100;

// Posts inlined SENDs of 100 bytes, which come by one doorbell at 0.
void post_together(Rnics& cards, Rnics::Ends ends, std::size_t count) {
  std::vector<std::byte>& content = cards.sent.emplace_back(bytes, std::byte{'s'});
  for (std::size_t i = 0; i < count; ++i) {
    SendWork work;
    work.id = i;
    work.bytes = content;
    work.inlined = true;
    work.follows = i > 0;
    if (i == 0) work.chained_bytes = static_cast<std::uint32_t>((count - 1) * (64 + bytes));
    const Card::Posted posted = cards.a.post_send(ends.a, work);
    REQUIRE(posted.refusal == 0);
    cards.world.at(0, cards.a, Card::ring_tag(posted.message));
  }
}

TEST_CASE("requests that are posted together have one doorbell and one DMA read", "[nic]") {
  Rnics cards;
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.receive(ends, 1) == 0);
  post_together(cards, ends, 2);
  cards.run();
  // The requests by DMA: 200 + 64 + 164 + 200 = 628; unit 678, behind: doorbell 40 and PCIe 200, 918; link
  // 973. The second is known of 40 later, when the doorbell has been written: 668, unit 678 to 728, PCIe 928,
  // link from 973 to 1028. Sent: + 200.
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[0].at == 1173 * ns);
  CHECK(cards.sends.seen[1].at == 1228 * ns);
  CHECK(cards.world.spent().of(Spent::doorbell) == 40 * ns);
  REQUIRE(cards.receives.seen.size() == 2);
  CHECK(cards.receives.seen[0].finished.completion.id == 0);
  CHECK(cards.receives.seen[1].finished.completion.id == 1);
  CHECK(cards.text(1, bytes) == std::string(bytes, 's'));
}

TEST_CASE("a request alone goes with its doorbell, one that follows does not ring", "[nic]") {
  Rnics cards;
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.receive(ends, 0) == 0);
  post_together(cards, ends, 1);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].at == 545 * ns);  // as in nic_times_test.cpp
}

struct Counter {
  explicit Counter(Card& card)
      : content(64), name(card.expose(content, card.reserve_addresses(64), PeerAccess::all)) {}
  void set(std::uint64_t value) { std::memcpy(content.data(), &value, sizeof value); }
  [[nodiscard]] std::uint64_t get() const {
    std::uint64_t value = 0;
    std::memcpy(&value, content.data(), sizeof value);
    return value;
  }
  [[nodiscard]] RemoteMemory at(std::uint64_t offset) const { return name.behind(offset); }

  std::vector<std::byte> content;
  RemoteMemory name;
};

// What comes back goes to sent.back().
void change(Rnics& cards, Rnics::Ends ends, SendOperation operation, const RemoteMemory& memory,
            std::uint64_t operand, std::uint64_t swap = 0) {
  SendWork work;
  work.operation = operation;
  work.bytes = cards.sent.emplace_back(atomic_bytes, std::byte{0});
  work.remote = memory;
  work.operand = operand;
  work.swap = swap;
  const Card::Posted posted = cards.a.post_send(ends.a, work);
  REQUIRE(posted.refusal == 0);
  cards.world.at(cards.world.now(), cards.a, Card::ring_tag(posted.message));
}

std::uint64_t fetched(const std::vector<std::byte>& content) {
  std::uint64_t value = 0;
  std::memcpy(&value, content.data(), sizeof value);
  return value;
}

TEST_CASE("an atomic operation takes the way of a READ, and the next one waits for its DMA", "[nic]") {
  Rnics cards;
  Counter counter(cards.b);
  counter.set(7);
  const auto first = cards.link(Transport::rc);
  const auto second = cards.link(Transport::rc);
  change(cards, first, SendOperation::fetch_and_add, counter.at(0), 5);
  change(cards, second, SendOperation::fetch_and_add, counter.at(0), 5);
  cards.run();
  // The request by DMA 464, unit 519, doorbell and PCIe 759, link 773 (12 + 16 bytes), cable 873, unit 968
  // (65 + 30), DMA 1376, link 1386 (8 + 12), cable 1486, unit 1516, DMA with a completion 1588, PCIe 200.
  // The second: request 528, unit 583, 823, link 837, cable 937, unit from 968 to 1063; DMA from 1376 to
  // 1784, link 1794, cable 1894, unit 1924, DMA 1996, PCIe 200.
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[0].at == 1788 * ns);
  CHECK(cards.sends.seen[1].at == 2196 * ns);
  CHECK(fetched(cards.sent[0]) == 7);
  CHECK(fetched(cards.sent[1]) == 12);
  CHECK(counter.get() == 17);
}

TEST_CASE("a READ does not wait for the bus behind atomic operations that wait for each other", "[nic]") {
  Rnics cards;
  Counter counter(cards.b);
  const auto first = cards.link(Transport::rc);
  const auto second = cards.link(Transport::rc);
  const auto third = cards.link(Transport::rc);
  change(cards, first, SendOperation::fetch_and_add, counter.at(0), 5);
  change(cards, second, SendOperation::fetch_and_add, counter.at(0), 5);
  REQUIRE(cards.access(0, third, SendOperation::read, counter.at(8), 8, true, false, 1) == 0);
  cards.run();
  // The READ: request by DMA 592, unit 647, doorbell and PCIe 887, link 893 (12 bytes), cable 993, unit from
  // 1063 to 1158, DMA 1566, link 1576 (8 + 12), cable 1676, unit 1706, DMA with a completion 1778, PCIe 200.
  // The second atomic operation's DMA begins 218 after it, and they end as if there were no READ.
  REQUIRE(cards.sends.seen.size() == 3);
  CHECK(cards.sends.seen[0].at == 1788 * ns);
  CHECK(cards.sends.seen[1].at == 1978 * ns);
  CHECK(cards.sends.seen[1].finished.completion.id == 1);
  CHECK(cards.sends.seen[2].at == 2196 * ns);
}

TEST_CASE("the acknowledgement of a WRITE behind a READ does not overtake the response", "[nic]") {
  Rnics cards;
  Counter counter(cards.b);
  counter.set(7);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.access(0, ends, SendOperation::read, counter.at(0), 8, true, false, 1) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write, counter.at(8), 8, true, false, 2) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[0].finished.completion.id == 1);
  CHECK(cards.sends.seen[1].finished.completion.id == 2);
  CHECK(cards.sends.seen[1].finished.sends_done == 2);
}

TEST_CASE("compare-and-swap changes what is as expected only", "[nic]") {
  Rnics cards;
  Counter counter(cards.b);
  counter.set(7);
  const auto ends = cards.link(Transport::rc);
  change(cards, ends, SendOperation::compare_and_swap, counter.at(0), 6, 9);
  cards.run();
  CHECK(fetched(cards.sent.back()) == 7);
  CHECK(counter.get() == 7);
  change(cards, ends, SendOperation::compare_and_swap, counter.at(0), 7, 9);
  cards.run();
  CHECK(fetched(cards.sent.back()) == 7);
  CHECK(counter.get() == 9);
}

TEST_CASE("an atomic operation on bytes that are not aligned is refused", "[nic]") {
  Rnics cards;
  Counter counter(cards.b);
  const auto ends = cards.link(Transport::rc);
  change(cards, ends, SendOperation::fetch_and_add, counter.at(4), 1);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].finished.completion.status == CompletionStatus::access);
  CHECK(counter.get() == 0);
}

}  // namespace
}  // namespace rkv::sim::test
