// WRITEs and READs on an RNIC, worked out by hand from round_nic() as in nic_times_test.cpp, and what becomes
// of those that may not be done.
#include <catch2/catch.hpp>

#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

constexpr std::size_t payload_bytes = 100;

// Exposed memory on card b.
struct Memory {
  explicit Memory(Card& card)
      : content(4096, std::byte{'m'}),
        name(card.expose(content, card.reserve_addresses(4096), PeerAccess::all)) {}

  [[nodiscard]] std::string text(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(content.data()) + at, length};
  }
  [[nodiscard]] RemoteMemory at(std::uint64_t offset) const {
    return {.address = name.address + offset, .key = name.key};
  }

  std::vector<std::byte> content;
  RemoteMemory name;
};

std::string text_of(const std::vector<std::byte>& content) {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

TEST_CASE("a WRITE takes the sum of its steps, and no receive", "[nic]") {
  Rnics cards;
  Memory memory(cards.b);
  SECTION("UC") {
    // unit 50, doorbell 90, PCIe 290, link 345; sent: + 200
    const auto ends = cards.link(Transport::uc);
    REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
    cards.run();
    REQUIRE(cards.sends.seen.size() == 1);
    CHECK(cards.sends.seen[0].at == 545 * ns);
    // cable 445, unit 515, DMA 615, PCIe
    CHECK(cards.world.now() == 815 * ns);
  }
  SECTION("RC") {
    // unit 55, 295, link 351, cable 451, unit 516 + 30; acknowledgement: link 556, cable 656, unit 686, PCIe
    const auto ends = cards.link(Transport::rc);
    REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
    cards.run();
    REQUIRE(cards.sends.seen.size() == 1);
    CHECK(cards.sends.seen[0].at == 886 * ns);
  }
  CHECK(cards.receives.seen.empty());
  CHECK(memory.text(7, 1) + memory.text(107, 2) == "mwm");
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'w'));
}

TEST_CASE("a WRITE with immediate takes the steps of a SEND, and four bytes more on the link", "[nic]") {
  // 2 ns of the link for the immediate data in front of each of the steps of nic_times_test.cpp
  NicProfile nic = round_nic();
  nic.receive_record = GENERATE(false, true);
  Rnics cards(nic);
  Memory memory(cards.b);
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 3, 0) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write_with_immediate, memory.at(8), payload_bytes) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  REQUIRE(cards.sends.seen.size() == 1);
  const Ps look = nic.receive_record ? 2 * 2 * 200 * ns : 0;
  if (transport == Transport::uc) {
    // unit 50, doorbell 90, PCIe 290, link 347 (114 bytes), cable 447, unit 517, descriptor 542 (15 + 2 x 5),
    // payload and completion 706, PCIe 906; sent: 347 + 200
    CHECK(cards.receives.seen[0].at == 906 * ns + look);
    CHECK(cards.sends.seen[0].at == 547 * ns);
  } else {
    // unit 55, 295, link 353 (116 bytes), cable 453, unit 518, descriptor 543, DMA 707, PCIe 907;
    // acknowledgement: unit 518 + 30, link 558 (20 bytes), cable 658, unit 688, PCIe 888
    CHECK(cards.receives.seen[0].at == 907 * ns + look);
    CHECK(cards.sends.seen[0].at == 888 * ns + look);
  }
  const Completion& told = cards.receives.seen[0].finished.completion;
  CHECK(told.id == 3);
  CHECK(told.status == CompletionStatus::ok);
  CHECK(told.bytes == 0);
  CHECK(told.immediate == immediate);
  CHECK(memory.text(7, 1) + memory.text(107, 2) == "mwm");
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'w'));
}

TEST_CASE("a WRITE with immediate needs the translation of where its payload goes", "[nic]") {
  const bool known = GENERATE(false, true);
  NicProfile nic = round_nic();
  nic.translation_cache = {.entries = 8, .miss = 500 * ns, .parallel_misses = 1};
  Rnics cards(nic);
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::uc);
  if (known) REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
  REQUIRE(cards.receive(ends, 0, 0) == 0);
  const Ps begin = 10'000 * ns;
  REQUIRE(cards.access(begin, ends, SendOperation::write_with_immediate, memory.at(8), payload_bytes) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  // On a miss, from the message's arrival at 447: 947 instead of unit 517, then as above.
  CHECK(cards.receives.seen[0].at == begin + (906 + (known ? 0 : 947 - 517)) * ns);
}

TEST_CASE("on RC a WRITE with immediate is sent again until there is a receive", "[nic]") {
  Rnics cards;
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.receive(ends, 3, 0, 500 * ns) == 0);  // the card sees it later than the message comes
  REQUIRE(cards.access(0, ends, SendOperation::write_with_immediate, memory.at(8), payload_bytes) == 0);
  cards.world.advance(1'453 * ns);
  CHECK(cards.receives.seen.empty());
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'm'));
  cards.run();
  // At 453 there is none; 1000 later on the link again: 1511, cable 1611, then as above, from 453 on.
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].at == (1'611 + 907 - 453) * ns);
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].at == (1'611 + 888 - 453) * ns);
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'w'));
}

TEST_CASE("on UC a WRITE with immediate that finds no receive is dropped and counted", "[nic]") {
  Rnics cards;
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.access(0, ends, SendOperation::write_with_immediate, memory.at(8), payload_bytes) == 0);
  cards.run();
  CHECK(cards.receives.seen.empty());
  CHECK(cards.sends.seen.size() == 1);
  CHECK(cards.b.faults().no_receive == 1);
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'm'));
}

TEST_CASE("a WRITE with immediate to memory that is not exposed leaves its receive to be flushed", "[nic]") {
  NicProfile nic = round_nic();
  nic.receive_record = true;  // there is none to be looked for
  Rnics cards(nic);
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.receive(ends, 3, 0) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write_with_immediate, memory.at(4096), payload_bytes) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].finished.completion.status == CompletionStatus::access);
  CHECK(cards.sends.seen[0].at == 888 * ns);
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].finished.completion.id == 3);
  CHECK(cards.receives.seen[0].finished.completion.status == CompletionStatus::flushed);
}

TEST_CASE("a WRITE does not overtake a message whose receive the card looks for", "[nic]") {
  NicProfile nic = round_nic();
  nic.receive_record = true;
  Rnics cards(nic);
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  // The message: cable 451, looks until 1251, unit 1346 (65 + 30); acknowledgement: link 1356, cable 1456,
  // unit 1486, PCIe. The WRITE, there at 507, waits for 1251, too: unit from 1346 to 1441, which makes its
  // acknowledgement 190 late; its places are those of 1251: link 1271, cable 1371, unit from 1391 to 1421;
  // 1611, PCIe.
  CHECK(cards.sends.seen[0].at == 1686 * ns);
  CHECK(cards.sends.seen[1].at == 1811 * ns);
}

TEST_CASE("a READ takes the way there and back", "[nic]") {
  NicProfile nic = round_nic();
  nic.pcie_payload_bytes = 64;
  nic.pcie_packet = GENERATE(0, 7) * ns;
  nic.qp_cache = {.entries = 8, .miss = 0};
  const bool watched = GENERATE(false, true);
  Rnics cards(nic);
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(8), payload_bytes, !watched, watched) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(text_of(cards.sent.back()) == std::string(payload_bytes, 'm'));
  // the request by DMA 464 and 1 packet; behind that: unit 55, 295, link 301 (12 bytes), cable 401, unit 496
  // (65 + 30), DMA 696 + 100 + 2 packets + 200, link 56, cable 100, unit 30, DMA 100 + 2 packets, with a
  // completion 64 + 1 packet more, PCIe 200
  const Ps packets = (watched ? 5 : 6) * nic.pcie_packet;
  CHECK(cards.sends.seen[0].at == (464 + (watched ? 1482 : 1546)) * ns + packets);
  CHECK(cards.sends.seen[0].finished.sends_done == (watched ? 0U : 1U));
  CHECK(cards.a.contexts().accesses() == 2);
  CHECK(cards.b.contexts().accesses() == 1);
}

TEST_CASE("bytes that lie across a multiple of a packet's are in two, if addresses cut", "[nic]") {
  NicProfile nic = round_nic();
  nic.pcie_payload_bytes = 64;
  nic.pcie_packet = 7 * ns;
  nic.pcie_cut_by_address = GENERATE(false, true);
  const Ps more = nic.pcie_cut_by_address ? 7 * ns : 0;
  const auto end = [&nic](SendOperation operation, std::uint64_t offset) {
    Rnics cards(nic);
    Memory memory(cards.b);
    const auto ends = cards.link(operation == SendOperation::read ? Transport::rc : Transport::uc);
    REQUIRE(cards.access(0, ends, operation, memory.at(offset), 8) == 0);
    cards.run();
    return cards.world.now();
  };
  const SendOperation operation = GENERATE(SendOperation::read, SendOperation::write);
  const Ps within = end(operation, 0);
  CHECK(end(operation, 56) == within);
  CHECK(end(operation, 57) == within + more);
  CHECK(end(operation, 63) == within + more);
  CHECK(end(operation, 64) == within);
}

TEST_CASE("a READ whose request the card has lost fetches it again", "[nic]") {
  NicProfile nic = round_nic();
  nic.request_cache = {
      .entries = 2, .policy = CacheProfile::Policy::lru, .miss = 600 * ns, .parallel_misses = 1};
  Rnics cards(nic);
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  for (std::uint64_t id = 0; id < 4; ++id) {
    REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(id), 1, id == 3) == 0);
  }
  cards.run();
  // Of four outstanding the card holds the latest two. The first is gone, and to fetch it again throws out
  // the third, and so on.
  CHECK(cards.a.requests().misses() == 4);
  CHECK(cards.world.spent().of(Spent::request_miss) >= 4 * 600 * ns);
  // WRITEs take no room, and two at a time are held.
  const Ps later = cards.world.now();
  for (int i = 0; i < 4; ++i) REQUIRE(cards.access(later, ends, SendOperation::write, memory.at(0), 1) == 0);
  for (int i = 0; i < 2; ++i) REQUIRE(cards.access(later, ends, SendOperation::read, memory.at(0), 1) == 0);
  cards.run();
  CHECK(cards.a.requests().misses() == 4);
}

TEST_CASE("what a unit does while a context is missing", "[nic]") {
  NicProfile nic = round_nic();
  nic.qp_cache = {.entries = 8, .miss = 20 * ns, .parallel_misses = 4};
  SECTION("nothing: it is not asked") {
    // Missing for the request and at the responder, 20 ns each; there for the answer.
    nic.stalls_for_contexts = false;
    Rnics cards(nic);
    const Memory memory(cards.b);
    const auto ends = cards.link(Transport::rc);
    REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
    cards.run();
    CHECK(cards.sends.seen.at(0).at == (2010 + 2 * 20) * ns);
  }
  SECTION("nothing, and its bytes take PCIe's time") {
    nic.context_bytes = 50;
    Rnics cards(nic);
    const Memory memory(cards.b);
    const auto ends = cards.link(Transport::rc);
    REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
    cards.run();
    CHECK(cards.sends.seen.at(0).at == (2010 + 2 * (20 + 50)) * ns);
  }
  SECTION("it waits, and so does who needs it next") {
    nic.stalls_for_contexts = true;
    nic.units_by_queue_pair = true;
    nic.qp_cache.parallel_misses = 1;
    nic.qp_cache.miss = 500 * ns;
    Rnics cards(nic);
    Memory memory(cards.b);
    const auto ends = cards.link(Transport::rc);
    const auto others = cards.link(Transport::uc);
    // A WRITE whose context is there: sent at 0, by the unit until 550, 790, link 845; sent: + 200.
    REQUIRE(cards.access(0, others, SendOperation::write, memory.at(0), payload_bytes) == 0);
    // The READ comes at 5000, and its context at 5500; the second WRITE at 5001, and so is sent first: unit
    // from 5500 to 5550, and to 5605 for the READ.
    REQUIRE(cards.access(4536 * ns, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
    REQUIRE(cards.access(5001 * ns, others, SendOperation::write, memory.at(0), payload_bytes) == 0);
    cards.run();
    REQUIRE(cards.sends.seen.size() == 3);
    CHECK(cards.sends.seen[0].at == 1045 * ns);
    // doorbell and PCIe 240, link 55; sent: + 200
    CHECK(cards.sends.seen[1].at == (5550 + 240 + 55 + 200) * ns);
    // 50 behind there. At the responder the WRITE, at 5945, has the unit until 6015, when the READ, there at
    // 5951, begins to wait for its context.
    CHECK(cards.sends.seen[2].at == (4536 + 2010 + 500 + 50 + (6015 - 5951) + 500) * ns);
  }
}

TEST_CASE("a READ's responder may need a context of its own", "[nic]") {
  NicProfile nic = round_nic();
  nic.read_contexts = true;
  nic.stalls_for_contexts = true;
  nic.qp_cache = {.entries = 2, .miss = 20 * ns};
  Rnics cards(nic);
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
  cards.run();
  // One at the requester, two at the responder, one after the other.
  CHECK(cards.sends.seen.at(0).at == (2010 + 3 * 20) * ns);
  CHECK(cards.a.contexts().accesses() == 2);
  CHECK(cards.b.contexts().accesses() == 2);
  REQUIRE(cards.access(cards.world.now(), ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
  cards.run();
  CHECK(cards.b.contexts().accesses() == 3);
  CHECK(cards.b.contexts().misses() == 2);
}

TEST_CASE("payload takes a unit's time for each packet of PCIe", "[nic]") {
  NicProfile nic = round_nic();
  nic.pcie_payload_bytes = 40;
  const auto end = [&nic](Transport transport, SendOperation operation) {
    Rnics cards(nic);
    Memory memory(cards.b);
    const auto ends = cards.link(transport);
    REQUIRE(cards.access(0, ends, operation, memory.at(0), payload_bytes) == 0);
    cards.run();
    return cards.world.now();
  };
  const Ps read = end(Transport::rc, SendOperation::read);
  const Ps write = end(Transport::uc, SendOperation::write);
  nic.pass_each_packet = true;
  // Three packets: `ack` is 30 ns, at the responder and at the requester. The WRITE is inlined; 70 to
  // receive.
  CHECK(end(Transport::rc, SendOperation::read) == read + 2 * (2 * 30) * ns);
  CHECK(end(Transport::uc, SendOperation::write) == write + 2 * 70 * ns);
  nic.pcie_payload_bytes = 100;
  CHECK(end(Transport::rc, SendOperation::read) == read);
}

TEST_CASE("a READ waits while as many as may be are unanswered, and so does what is behind it", "[nic]") {
  NicProfile nic = round_nic();
  nic.reads_outstanding = GENERATE(1U, 2U);
  Rnics cards(nic);
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  for (std::uint64_t id = 0; id < 2; ++id) {
    REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
  }
  REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
  cards.world.advance(1646 * ns);
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, nic.reads_outstanding == 1 ? 'm' : 'w'));
  cards.run();
  REQUIRE(cards.sends.seen.size() == 3);
  // As above: on the link at 464 + 295, of which the unit for the answer ends at 1646, then 364 to the end.
  CHECK(cards.sends.seen[0].at == 2010 * ns);
  if (nic.reads_outstanding == 1) {
    // Then the second one enters the link, and ends as long after that as the first: 2010 - 759 = 1251.
    CHECK(cards.sends.seen[1].at == (1646 + 1251) * ns);
  } else {
    CHECK(cards.sends.seen[1].at < (1646 + 1251) * ns);
  }
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'w'));
  // All have been answered: the next one waits for none.
  const Ps later = cards.world.now();
  REQUIRE(cards.access(later, ends, SendOperation::read, memory.at(8), payload_bytes) == 0);
  cards.run();
  CHECK(cards.sends.seen[3].at == later + 2010 * ns);
}

TEST_CASE("a READ's response stays outside while the way to memory is full", "[nic]") {
  struct Ended {
    Ps at = 0;
    std::uint64_t misses = 0;
  };
  const auto read_beside_a_write = [](Ps most) {
    NicProfile nic = round_nic();
    nic.pcie_write_backlog = most;
    nic.request_cache = {
        .entries = 1, .policy = CacheProfile::Policy::lru, .miss = 600 * ns, .parallel_misses = 1};
    Rnics cards(nic);
    const Memory memory(cards.b);
    const Memory own(cards.a);
    const auto reads = cards.link(Transport::rc);
    const auto writes = cards.link(Transport::uc);
    // Of 3000 bytes, from b: unit 50, 290, link 1510, cable 1890, unit 1960; from then to 4960 on a's bus.
    SendWork write;
    std::vector<std::byte> content(3000);
    write.operation = SendOperation::write;
    write.bytes = content;
    write.inlined = true;
    write.signalled = false;
    write.remote = own.at(0);
    const Card::Posted posted = cards.b.post_send(writes.b, write);
    REQUIRE(posted.refusal == 0);
    cards.world.at(0, cards.b, Card::ring_tag(posted.message));
    // The response comes at 2616 (as above, from 1000 on), and a second READ's request to the card at 2964.
    REQUIRE(cards.access(1000 * ns, reads, SendOperation::read, memory.at(0), payload_bytes) == 0);
    REQUIRE(cards.access(2500 * ns, reads, SendOperation::read, memory.at(0), payload_bytes, false) == 0);
    cards.run();
    REQUIRE(cards.sends.seen.size() == 1);
    return Ended{cards.sends.seen[0].at, cards.a.requests().misses()};
  };
  // Taken in at once, its request is there, and its 164 bytes are written behind the others.
  const Ended at_once = read_beside_a_write(0);
  CHECK(at_once.misses == 0);
  // When 50 ns are left its request is gone: 600 ns more and the unit's 30, and then nothing else is on the
  // bus.
  const Ended later = read_beside_a_write(50 * ns);
  CHECK(later.misses >= 1);
  CHECK(later.at == at_once.at + (600 + 30 - 50) * ns);
  // As long a wait as there is makes no difference.
  CHECK(read_beside_a_write(3000 * ns).at == at_once.at);
}

TEST_CASE("a READ that nobody is told of moves its bytes all the same", "[nic]") {
  Rnics cards;
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.access(0, ends, SendOperation::read, memory.at(0), payload_bytes, false) == 0);
  cards.run();
  CHECK(cards.sends.seen.empty());
  CHECK(text_of(cards.sent.back()) == std::string(payload_bytes, 'm'));
}

TEST_CASE("memory that is not exposed is not touched", "[nic]") {
  Rnics cards;
  Memory memory(cards.b);
  const auto operation = GENERATE(SendOperation::read, SendOperation::write);
  RemoteMemory wrong = memory.at(0);
  const int what = GENERATE(range(0, 6));
  if (what == 0) wrong = memory.at(4096 - payload_bytes + 1);
  if (what == 1) wrong = memory.at(~std::uint64_t{0} - 10);
  if (what == 2) wrong = memory.at(static_cast<std::uint64_t>(-1));
  if (what == 3) ++wrong.key;
  if (what == 4) cards.b.hide(memory.name);
  if (what == 5) cards.one_sided = false;  // the queue pair does not allow it
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.access(0, ends, operation, wrong, payload_bytes, false) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].finished.completion.status == CompletionStatus::access);
  CHECK(text_of(cards.sent.back()) == std::string(payload_bytes, 'w'));
  CHECK(memory.text(0, 4096) == std::string(4096, 'm'));
  // The queue pair has failed.
  REQUIRE(cards.access(cards.world.now(), ends, operation, memory.at(0), payload_bytes, false, false, 7) ==
          0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[1].finished.completion.status == CompletionStatus::flushed);
}

TEST_CASE("a WRITE on UC to memory that is not exposed is dropped", "[nic]") {
  Rnics cards;
  const Memory memory(cards.b);
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(4096), payload_bytes, true, false, 1) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(0), 1, true, false, 2) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  for (const Seen& seen : cards.sends.seen) CHECK(seen.finished.completion.status == CompletionStatus::ok);
  CHECK(memory.text(0, 4096) == "w" + std::string(4095, 'm'));
}

TEST_CASE("a card in software wakes who waits for a WRITE with immediate, at the poster's cost", "[nic]") {
  Softs cards;
  Memory memory(cards.b);
  cards.receives.armed = true;
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.receive(ends, 3, 0) == 0);
  REQUIRE(cards.access(0, ends, SendOperation::write, memory.at(8), payload_bytes) == 0);
  cards.run();
  CHECK(cards.world.spent().of(Spent::kernel) == 0);
  cards.receives.asleep = true;
  REQUIRE(cards.access(1'000 * ns, ends, SendOperation::write_with_immediate, memory.at(8), payload_bytes) ==
          0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].at == (1'000 + 300 + 50) * ns);
  CHECK(cards.receives.seen[0].finished.completion.immediate == immediate);
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, 'w'));
  CHECK(cards.world.spent().of(Spent::kernel) == 900 * ns);
}

TEST_CASE("a card in software moves the bytes in the posting thread", "[nic]") {
  Softs cards;
  Memory memory(cards.b);
  const auto ends = cards.link(Transport::rc);
  const auto operation = GENERATE(SendOperation::read, SendOperation::write);
  REQUIRE(cards.access(0, ends, operation, memory.at(8), payload_bytes) == 0);
  REQUIRE(cards.access(1'000 * ns, ends, operation, memory.at(4096), payload_bytes) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[0].at == (300 + 50) * ns);
  CHECK(cards.sends.seen[1].finished.completion.status == CompletionStatus::access);
  CHECK(cards.receives.seen.empty());
  const char moved = operation == SendOperation::read ? 'm' : 'w';
  CHECK(memory.text(8, payload_bytes) == std::string(payload_bytes, moved));
  CHECK(text_of(cards.sent.front()) == std::string(payload_bytes, moved));
}

}  // namespace
}  // namespace rkv::sim::test
