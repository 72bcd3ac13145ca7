// Messages that are lost, doubled, late, or find no receive; and that order and contents hold whatever
// happens.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/workload/rng.hpp"
#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("UC and UD lose messages for good, and their sends complete", "[nic_faults]") {
  const Transport transport = GENERATE(Transport::uc, Transport::ud);
  NetworkProfile network = round_network();
  network.loss = 1;
  Rnics cards(round_nic(), network);
  const auto ends = cards.link(transport);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.send(0, ends, "lost") == 0);
  cards.run();
  CHECK(cards.receives.seen.empty());
  REQUIRE(cards.sends.seen.size() == 1);
  CHECK(cards.sends.seen[0].finished.completion.status == CompletionStatus::ok);
  CHECK(cards.a.faults().lost == 1);
}

TEST_CASE("a message is lost when one of its packets is", "[nic_faults]") {
  NetworkProfile network = round_network();
  network.loss = 0.1;
  network.mtu_bytes = 256;
  Rnics cards(round_nic(), network);
  const auto ends = cards.link(Transport::uc, 16'000);
  constexpr std::uint64_t messages = 8'000;
  const std::string four_packets(1000, 'p');
  for (std::uint64_t id = 0; id < messages; ++id) {
    REQUIRE(cards.receive(ends, id, 1000) == 0);
    REQUIRE(cards.send(0, ends, four_packets, false) == 0);
  }
  cards.run();
  const double arrived = static_cast<double>(cards.receives.seen.size()) / messages;
  CHECK(arrived == Approx(0.9 * 0.9 * 0.9 * 0.9).margin(0.025));  // over four standard deviations
  CHECK(cards.a.faults().lost == messages - cards.receives.seen.size());
}

TEST_CASE("duplicates arrive twice and are sent once", "[nic_faults]") {
  NetworkProfile network = round_network();
  network.duplicate = 1;
  Rnics cards(round_nic(), network);
  const auto ends = cards.link(Transport::ud);
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id) == 0);
  REQUIRE(cards.send(0, ends, "twice") == 0);
  cards.run();
  CHECK(cards.receives.seen.size() == 2);
  CHECK(cards.sends.seen.size() == 1);
  CHECK(cards.text(0, 5, 40) == "twice");
  CHECK(cards.text(1, 5, 40) == "twice");
  CHECK(cards.a.faults().duplicated == 1);
}

TEST_CASE("a reordered message comes later, by no more than the delay", "[nic_faults]") {
  NetworkProfile network = round_network();
  network.reorder = 1;
  network.reorder_delay = 3'000 * ns;
  Rnics cards(round_nic(), network);
  const auto ends = cards.link(Transport::uc);
  REQUIRE(cards.receive(ends, 0) == 0);
  REQUIRE(cards.send(0, ends, std::string(100, 'x')) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].at > 904 * ns);
  CHECK(cards.receives.seen[0].at <= (904 + 3'000) * ns);
  CHECK(cards.a.faults().reordered == 1);
}

TEST_CASE("UC and UD drop what finds no receive", "[nic_faults]") {
  const Transport transport = GENERATE(Transport::uc, Transport::ud);
  Rnics cards;
  const auto ends = cards.link(transport);
  REQUIRE(cards.send(0, ends, "nowhere") == 0);
  cards.run();
  CHECK(cards.sends.seen.size() == 1);
  CHECK(cards.b.faults().no_receive == 1);
  // It is gone: a receive that is posted later does not get it.
  REQUIRE(cards.receive(ends, 0) == 0);
  cards.run();
  CHECK(cards.receives.seen.empty());
}

TEST_CASE("RC sends what found no receive again, and what came behind it", "[nic_faults]") {
  Rnics cards;
  const auto ends = cards.link(Transport::rc);
  const std::string bytes(100, 'x');
  for (const std::uint64_t id : {0, 1}) REQUIRE(cards.receive(ends, id, 4096, 1200 * ns) == 0);
  REQUIRE(cards.send(0, ends, bytes, true, true, 10) == 0);
  REQUIRE(cards.send(0, ends, bytes, true, true, 11) == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 2);
  // Refused at 451, on the link again at 1451, there at 1607; from there as always (nic_times_test.cpp).
  CHECK(cards.receives.seen[0].at == (1607 + 905 - 451) * ns);
  CHECK(cards.receives.seen[0].finished.completion.id == 0);
  CHECK(cards.receives.seen[1].finished.completion.id == 1);
  REQUIRE(cards.sends.seen.size() == 2);
  CHECK(cards.sends.seen[0].finished.completion.id == 10);
  CHECK(cards.sends.seen[0].at == (1607 + 886 - 451) * ns);
  CHECK(cards.sends.seen[1].finished.completion.id == 11);
  CHECK(cards.world.spent().of(Spent::receiver_not_ready) == 1'000 * ns);
}

TEST_CASE("RC tries a receiver that is not ready without end", "[nic_faults]") {
  Rnics cards;
  const auto ends = cards.link(Transport::rc);
  REQUIRE(cards.receive(ends, 0, 4096, 1'000'000 * ns) == 0);
  REQUIRE(cards.send(0, ends, "patient") == 0);
  cards.run();
  REQUIRE(cards.receives.seen.size() == 1);
  CHECK(cards.receives.seen[0].at > 1'000'000 * ns);
  CHECK(cards.receives.seen[0].at < 1'003'000 * ns);
  CHECK(cards.sends.seen[0].finished.completion.status == CompletionStatus::ok);
}

// Posts at random times messages of random lengths, inlined or not, on several queue pairs, and checks that
// each queue pair's arrive with their contents, in order; all of them where nothing may be lost.
void check_order(const NicProfile& nic, const NetworkProfile& network, Transport transport, bool all,
                 std::uint64_t seed) {
  constexpr int messages = 300;
  constexpr int links = 3;
  Rnics cards(nic, network, seed);
  Rng rng(seed, 1, Purpose::value_size);
  std::vector<Rnics::Ends> ends;
  for (int i = 0; i < links; ++i) ends.push_back(cards.link(transport, messages));
  const std::uint32_t headroom = receive_headroom_bytes(transport);
  std::vector<std::string> texts(messages * links);
  Ps at = 0;
  for (int i = 0; i < messages; ++i) {
    for (int link = 0; link < links; ++link) {
      const auto id = static_cast<std::uint64_t>(i * links + link);
      const Ps visible = static_cast<Ps>(rng.below(40'000)) * ns;
      REQUIRE(cards.receive(ends[static_cast<std::size_t>(link)], id, 2048, visible) == 0);
      const bool inlined = rng.below(2) == 0;
      texts[id] = std::to_string(id) + std::string(rng.below(inlined ? 100 : 1900), 'a');
      at += static_cast<Ps>(rng.below(200)) * ns;
      REQUIRE(cards.send(at, ends[static_cast<std::size_t>(link)], texts[id], i % 3 == 0, inlined, id) == 0);
    }
  }
  cards.run();
  std::vector<std::int64_t> last_of(links, -1);
  for (const Seen& seen : cards.receives.seen) {
    const Completion& completion = seen.finished.completion;
    const std::string text = cards.text(completion.id, completion.bytes, headroom);
    const auto sent = std::stoll(text);
    REQUIRE(text == texts[static_cast<std::size_t>(sent)]);
    REQUIRE(sent > last_of[static_cast<std::size_t>(sent % links)]);
    last_of[static_cast<std::size_t>(sent % links)] = sent;
    if (all) REQUIRE(completion.id == static_cast<std::uint64_t>(sent));
  }
  if (all) CHECK(cards.receives.seen.size() == texts.size());
  const FaultCounts& there = cards.b.faults();
  const FaultCounts& here = cards.a.faults();
  if (!all) CHECK(cards.receives.seen.size() + there.no_receive + here.lost == texts.size());
  // Signalled sends complete in order, each once.
  std::vector<std::int64_t> last_sent(links, -1);
  for (const Seen& seen : cards.sends.seen) {
    const auto id = static_cast<std::int64_t>(seen.finished.completion.id);
    REQUIRE(id > last_sent[static_cast<std::size_t>(id % links)]);
    last_sent[static_cast<std::size_t>(id % links)] = id;
  }
  CHECK(cards.sends.seen.size() == messages / 3 * links);
}

TEST_CASE("messages of a queue pair keep their order", "[nic_faults]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const double loss = GENERATE(0.0, 0.05);
  const std::uint64_t seed = GENERATE(range(1, 9));
  NicProfile nic = round_nic();
  nic.processing_units = 1 + static_cast<std::uint32_t>(seed % 3);
  nic.doorbell_carries_request = seed % 2 == 0;
  nic.qp_cache = {.entries = 2, .miss = 400 * ns, .parallel_misses = 2};
  nic.request_cache = {.entries = 4, .miss = 300 * ns};
  nic.translation_cache = {.entries = 1, .miss = 200 * ns};
  NetworkProfile network = round_network();
  network.loss = loss;
  check_order(nic, network, transport, transport == Transport::rc, seed);
}

}  // namespace
}  // namespace rkv::sim::test
