// What goes wrong for good, and what is destroyed while events for it are planned.
#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

CompletionStatus status(const Seen& seen) {
  return seen.finished.completion.status;
}

TEMPLATE_TEST_CASE("RC: a message that is too long fails both sides, and the rest is flushed", "[nic_errors]",
                   Rnics, Softs) {
  TestType cards;
  const auto ends = cards.link(Transport::rc);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id, 10) == 0);
  for (const std::uint64_t id : {10, 11}) {
    REQUIRE(cards.send(0, ends, "eleven more", false, true, id) == 0);
  }
  cards.run();
  REQUIRE(cards.receives.seen.size() == 2);
  CHECK(status(cards.receives.seen[0]) == CompletionStatus::message_length);
  CHECK(cards.receives.seen[0].finished.completion.id == 0);
  CHECK(status(cards.receives.seen[1]) == CompletionStatus::flushed);
  CHECK(cards.receives.seen[1].finished.completion.id == 1);
  REQUIRE(cards.sends.seen.size() == 2);  // signalled or not
  CHECK(status(cards.sends.seen[0]) == CompletionStatus::message_length);
  CHECK(cards.sends.seen[0].finished.completion.id == 10);
  CHECK(status(cards.sends.seen[1]) == CompletionStatus::flushed);
  CHECK(cards.sends.seen[1].finished.completion.id == 11);
  // What is posted from now on is flushed, too.
  REQUIRE(cards.send(cards.world.now(), ends, "x", false, true, 12) == 0);
  REQUIRE(cards.receive(ends, 2) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 3);
  CHECK(status(cards.sends.seen[2]) == CompletionStatus::flushed);
  REQUIRE(cards.receives.seen.size() == 3);
  CHECK(status(cards.receives.seen[2]) == CompletionStatus::flushed);
}

TEMPLATE_TEST_CASE("UC and UD drop a message that is too long and keep the receive", "[nic_errors]", Rnics,
                   Softs) {
  const Transport transport = GENERATE(Transport::uc, Transport::ud);
  const std::uint32_t room = receive_headroom_bytes(transport) + 10;
  TestType cards;
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 0, room) == 0);
  REQUIRE(cards.send(0, ends, "eleven more") == 0);
  REQUIRE(cards.send(0, ends, "ten of it.") == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].finished.completion.bytes == 10);
  CHECK(cards.text(0, 10, receive_headroom_bytes(transport)) == "ten of it.");
  CHECK(cards.b.faults().too_long == 1);
  CHECK(cards.sends.seen.size() == 2);
}

TEMPLATE_TEST_CASE("RC gives up on a peer that is gone after six more attempts", "[nic_errors]", Rnics,
                   Softs) {
  TestType cards;
  const auto ends = cards.link(Transport::rc);
  cards.b.destroy_queue_pair(ends.b);
  for (const std::uint64_t id : {10, 11, 12}) REQUIRE(cards.send(0, ends, "hello?", false, true, id) == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 3);
  CHECK(status(cards.sends.seen[0]) == CompletionStatus::peer_unreachable);
  CHECK(cards.sends.seen[0].at > 6 * 5'000 * ns);
  CHECK(cards.sends.seen[0].at < 7 * 5'000 * ns);
  CHECK(cards.sends.seen[0].finished.completion.id == 10);
  CHECK(status(cards.sends.seen[1]) == CompletionStatus::flushed);
  CHECK(status(cards.sends.seen[2]) == CompletionStatus::flushed);
}

TEST_CASE("UC and UD send to a peer that is gone as if it were there", "[nic_errors]") {
  const Transport transport = GENERATE(Transport::uc, Transport::ud);
  Rnics cards;
  const auto ends = cards.link(transport);
  cards.b.destroy_queue_pair(ends.b);
  REQUIRE(cards.send(0, ends, "hello?") == 0);
  cards.run();
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(status(cards.sends.seen[0]) == CompletionStatus::ok);
}

// Whenever an end is destroyed while messages are on their way, nothing that belonged to it is touched again.
TEMPLATE_TEST_CASE("either end may be destroyed at any time", "[nic_errors]", Rnics, Softs) {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const bool sender = GENERATE(true, false);
  for (Ps at = 0; at < 2'500 * ns; at += 7 * ns) {
    NicProfile nic = round_nic();
    nic.qp_cache = {.entries = 1, .miss = 100 * ns};
    nic.doorbell_carries_request = false;
    TestType cards(nic);
    const auto ends = cards.link(transport);
    const auto others = cards.link(transport);
    for (const std::uint64_t id : {0, 1, 2}) REQUIRE(cards.receive(ends, id) == 0);
    REQUIRE(cards.receive(others, 3) == 0);
    for (const std::uint64_t id : {10, 11, 12, 13}) {  // one more than there are receives
      REQUIRE(cards.send(static_cast<Ps>(id - 10) * 100 * ns, ends, "on its way", true, id % 2 == 0, id) ==
              0);
    }
    REQUIRE(cards.send(0, others, "beside it", true, true, 14) == 0);
    cards.world.advance(at);
    const std::size_t sends_before = cards.sends.seen.size();
    const std::size_t receives_before = cards.receives.seen.size();
    if (sender) {
      cards.a.destroy_queue_pair(ends.a);
    } else {
      cards.b.destroy_queue_pair(ends.b);
    }
    const std::uint32_t gone = sender ? ends.a : ends.b;
    CHECK((sender ? cards.sends : cards.receives).forgotten.size() == (1));
    cards.run();
    auto& seen = sender ? cards.sends.seen : cards.receives.seen;
    for (std::size_t i = sender ? sends_before : receives_before; i < seen.size(); ++i) {
      REQUIRE(seen[i].finished.completion.queue_pair != gone);
    }
    // The others are not disturbed.
    std::size_t beside = 0;
    for (const Seen& one : cards.sends.seen) beside += one.finished.completion.id == 14 ? 1 : 0;
    for (const Seen& one : cards.receives.seen) beside += one.finished.completion.id == 3 ? 1 : 0;
    REQUIRE(beside == 2);
    if (!sender && transport == Transport::rc) {  // every send ends
      std::size_t ended = 0;
      for (const Seen& one : cards.sends.seen) ended += one.finished.completion.id <= 13 ? 1 : 0;
      REQUIRE(ended == 4);
    }
  }
}

TEST_CASE("a send's place is free when it or a later one was taken, a receive's when it was",
          "[nic_errors]") {
  Rnics cards;
  const auto ends = cards.link(Transport::uc, 4);
  for (std::uint64_t id = 0; id < 4; ++id) REQUIRE(cards.receive(ends, id) == 0);
  CHECK(cards.receive(ends, 4) == ENOMEM);
  for (std::uint64_t id = 0; id < 4; ++id) REQUIRE(cards.send(0, ends, "x", id == 2, true, id) == 0);
  CHECK(cards.send(0, ends, "x") == ENOMEM);
  cards.run();
  CHECK(cards.send(cards.world.now(), ends, "x") == ENOMEM);  // done, but not taken
  CHECK(cards.receive(ends, 4) == ENOMEM);
  REQUIRE(cards.sends.seen.size() == 1);
  cards.a.taken(cards.sends.seen[0].finished);  // the third: three places
  for (int i = 0; i < 3; ++i) CHECK(cards.send(cards.world.now(), ends, "x") == 0);
  CHECK(cards.send(cards.world.now(), ends, "x") == ENOMEM);
  cards.b.taken(cards.receives.seen[0].finished);
  CHECK(cards.receive(ends, 4) == 0);
  CHECK(cards.receive(ends, 5) == ENOMEM);
}

TEST_CASE("a queue pair that is not connected refuses to send, and does not receive", "[nic_errors]") {
  Rnics cards;
  const Rnics::Ends ends{cards.make(cards.a, Transport::uc), cards.make(cards.b, Transport::uc)};
  CHECK(cards.send(0, ends, "x") == EINVAL);
  REQUIRE(cards.receive(ends, 0) == 0);
  cards.a.connect(ends.a, {1, ends.b});  // one way only
  REQUIRE(cards.send(0, ends, "x") == 0);
  cards.run();
  CHECK(cards.receives.seen.empty());
}

TEST_CASE("a connected queue pair hears its peer only", "[nic_errors]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  Rnics cards;
  const auto ends = cards.link(transport);
  const auto others = cards.link(transport);
  REQUIRE(cards.receive(ends, 0) == 0);
  const std::uint32_t stranger = cards.make(cards.a, transport);
  cards.a.connect(stranger, {1, ends.b});
  REQUIRE(cards.send(0, {stranger, ends.b}, "let me in") == 0);
  REQUIRE(cards.receive(others, 1) == 0);
  cards.run();
  CHECK(cards.receives.seen.empty());
}

}  // namespace
}  // namespace rkv::sim::test
