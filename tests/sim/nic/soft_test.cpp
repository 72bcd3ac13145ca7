// The soft RNIC: times worked out by hand from round_nic() (300 ns, and half a nanosecond a byte).
#include <catch2/catch.hpp>

#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("the poster copies, and both completions are visible when it is done", "[soft_nic]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  Softs cards;
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 5) == 0);
  REQUIRE(cards.send(1'000 * ns, ends, hundred_bytes, true, false, 7) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].at == 1'350 * ns);
  const Completion& received = cards.receives.seen[0].finished.completion;
  CHECK(received.id == 5);
  CHECK(received.bytes == 100);
  CHECK(received.source_queue_pair == (transport == Transport::ud ? ends.a : 0));
  CHECK(cards.text(5, 100, receive_headroom_bytes(transport)) == hundred_bytes);
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].at == 1'350 * ns);
  CHECK(cards.world.spent().of(Spent::nic) == 350 * ns);
  CHECK(cards.world.spent().of(Spent::kernel) == 0);
}

TEST_CASE("an armed receiver gets its event, and is woken, at the poster's cost", "[soft_nic]") {
  const bool asleep = GENERATE(false, true);
  Softs cards;
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.receive(ends, 0) == 0);
  cards.receives.armed = true;
  cards.receives.asleep = asleep;
  REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
  cards.run();
  CHECK(cards.receives.seen[0].at == 350 * ns);  // visible before the event
  CHECK(cards.world.spent().of(Spent::kernel) == (asleep ? 900 * ns : 200 * ns));
}

TEST_CASE("the event of an armed queue for the send's own completion is the poster's cost, too",
          "[soft_nic]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const bool signalled = GENERATE(false, true);
  Softs cards;
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 0) == 0);
  cards.sends.armed = true;
  REQUIRE(cards.send(0, ends, hundred_bytes, signalled) == 0);
  cards.run();
  CHECK(cards.receives.seen[0].at == 350 * ns);
  CHECK(cards.sends.seen.size() == (signalled ? 1 : 0));
  CHECK(cards.world.spent().of(Spent::kernel) == (signalled ? 200 * ns : 0));
}

TEST_CASE("two posters of one queue pair take turns", "[soft_nic]") {
  Softs cards;
  const auto ends = cards.link(Transport::rc);
  const auto others = cards.link(Transport::rc);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id) == 0);
  REQUIRE(cards.receive(others, 2) == 0);
  REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
  REQUIRE(cards.send(50 * ns, ends, "") == 0);
  REQUIRE(cards.send(50 * ns, others, "") == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 3);
  CHECK(cards.receives.seen[0].at == 350 * ns);
  CHECK(cards.receives.seen[1].at == 350 * ns);
  CHECK(cards.receives.seen[2].at == 650 * ns);
  CHECK(cards.receives.seen[2].finished.completion.queue_pair == ends.b);
  CHECK(cards.world.spent().of(Spent::lock) == 300 * ns);
}

TEST_CASE("a receive that is posted lets a waiting message in at once", "[soft_nic]") {
  Softs cards;
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.send(0, ends, "waits", true, true, 1) == 0);
  REQUIRE(cards.send(0, ends, "behind", true, true, 2) == 0);
  cards.world.advance(700 * ns);
  CHECK(cards.receives.seen.empty());
  REQUIRE(cards.receive(ends, 0, 4096, 750 * ns) == 0);
  REQUIRE(cards.receive(ends, 1, 4096, 760 * ns) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 2);
  CHECK(cards.receives.seen[0].at == 750 * ns);  // not at 1350, when it would have been tried again
  CHECK(cards.text(0, 5) == "waits");
  CHECK(cards.text(1, 6) == "behind");
  CHECK(cards.sends.seen.size() == 2);
}

TEST_CASE("faults befall UC and UD on the soft RNIC, not RC", "[soft_nic]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const bool reliable = transport == Transport::rc;
  NetworkProfile network = round_network();
  SECTION("loss") {
    network.loss = 1;
    Softs cards(round_nic(), network);
    const auto ends = cards.link(transport);
    REQUIRE(cards.receive(ends, 0) == 0);
    REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
    cards.run();
    CHECK(cards.receives.seen.size() == (reliable ? 1 : 0));
    CHECK(cards.sends.seen.size() == 1);
    CHECK(cards.a.faults().lost == (reliable ? 0 : 1));
  }
  SECTION("duplicates, copied twice") {
    network.duplicate = 1;
    Softs cards(round_nic(), network);
    const auto ends = cards.link(transport);
    for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id) == 0);
    REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
    cards.run();
    REQUIRE(cards.receives.seen.size() == (reliable ? 1 : 2));
    CHECK(cards.receives.seen.back().at == (reliable ? 350 : 700) * ns);
    CHECK(cards.sends.seen.size() == 1);
  }
  SECTION("reordering") {
    network.reorder = 1;
    Softs cards(round_nic(), network);
    const auto ends = cards.link(transport);
    REQUIRE(cards.receive(ends, 0) == 0);
    REQUIRE(cards.send(0, ends, hundred_bytes) == 0);
    cards.run();
    REQUIRE(cards.receives.seen.size() == 1);
    CHECK((cards.receives.seen[0].at > 350 * ns) == !reliable);
    CHECK(cards.a.faults().reordered == (reliable ? 0 : 1));
  }
}

}  // namespace
}  // namespace rkv::sim::test
