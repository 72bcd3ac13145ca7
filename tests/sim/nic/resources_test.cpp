// The card's parts, each alone.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/sim/nic/doorbell.hpp"
#include "backends/sim/nic/pcie.hpp"
#include "backends/sim/nic/request_cache.hpp"
#include "backends/sim/nic/units.hpp"
#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("the unit that is free first takes the next request", "[nic_units]") {
  Units units(2);
  CHECK(units.serve(0, 100).unit == 0);
  CHECK(units.serve(0, 30).unit == 1);
  const Units::Service third = units.serve(10, 50);
  CHECK(third.unit == 1);
  CHECK(third.start == 30);
  CHECK(third.end == 80);
  CHECK(units.serve(500, 1).start == 500);
}

TEST_CASE("PCIe: a read is a round trip, each direction is passed in turn", "[nic_pcie]") {
  NicProfile nic;
  nic.pcie_latency = 200 * ns;
  nic.pcie_bandwidth_bytes_per_ns = 2;
  Pcie pcie(nic);
  CHECK(pcie.read(0, 0, 100).end == (200 + 50 + 200) * ns);
  const Pcie::Passage second = pcie.read(0, 0, 100);
  CHECK(second.waited == 50 * ns);
  CHECK(second.end == (200 + 50 + 50 + 200) * ns);
  // Writes go the other way.
  CHECK(pcie.write(0, 0, 100, false).end == (50 + 200) * ns);
  CHECK(pcie.write(20 * ns, 0, 10, false).waited == 30 * ns);
  CHECK(pcie.write(300 * ns, 0, 0, false).end == 500 * ns);
}

TEST_CASE("PCIe: what is fetched on the side holds up the reads behind it, not itself", "[nic_pcie]") {
  NicProfile nic;
  nic.pcie_latency = 200 * ns;
  nic.pcie_bandwidth_bytes_per_ns = 2;
  nic.pcie_packet = 3 * ns;
  Pcie pcie(nic);
  CHECK(pcie.fetch(0, 0) == 0);
  CHECK(pcie.read(100 * ns, 0, 100).waited == 0);
  CHECK(pcie.fetch(0, 60) == 33 * ns);
  // The read has the way from 300 to 353.
  CHECK(pcie.read(110 * ns, 0, 100).waited == (353 + 33 - 310) * ns);
  CHECK(pcie.write(0, 0, 100, false).waited == 0);
}

TEST_CASE("a doorbell register of one's own costs its write", "[nic_doorbell]") {
  const HandOver costs{.hand_over = 100, .a_waiter = 7};
  Doorbells each_its_own(0, 0, 40);
  Doorbells two_private(2, 1, 40);
  const int threads[2] = {};
  const Doorbells::Poster a{.thread = &threads[0]};
  const Doorbells::Poster b{.thread = &threads[1]};
  for (Doorbells* doorbells : {&each_its_own, &two_private}) {
    CHECK(doorbells->ring(0, a, 0, costs) == 40);
    CHECK(doorbells->ring(1, b, 0, costs) == 40);
    CHECK(doorbells->ring(0, b, 0, costs) == 40);
  }
}

TEST_CASE("a shared doorbell register is waited for and handed over", "[nic_doorbell]") {
  const HandOver costs{.hand_over = 100, .a_waiter = 7};
  Doorbells doorbells(1, 2, 40);
  const int threads[3] = {};
  const Doorbells::Poster a{.thread = &threads[0]};
  const Doorbells::Poster b{.thread = &threads[1]};
  const Doorbells::Poster c{.thread = &threads[2]};
  CHECK(doorbells.ring(1, a, 0, costs) == 40);
  CHECK(doorbells.ring(3, b, 10, costs) == 30 + 100 + 40);  // locked until 40
  CHECK(doorbells.ring(2, c, 10, costs) == 40);             // the next register
  CHECK(doorbells.ring(1, b, 1000, costs) == 40);           // had it last
  CHECK(doorbells.ring(3, a, 2000, costs) == 100 + 40);
  // From another socket.
  const HandOver far{.hand_over = 100, .a_waiter = 7, .remote_factor = 1.5};
  CHECK(doorbells.ring(3, {.thread = &threads[1], .socket = 1}, 3000, far) == 150 + 40);
  CHECK(doorbells.ring(3, {.thread = &threads[2], .socket = 1}, 4000, far) == 100 + 40);
}

TEST_CASE("each that waits for a doorbell register makes the hand-overs longer", "[nic_doorbell]") {
  const HandOver costs{.hand_over = 100, .a_waiter = 7};
  Doorbells doorbells(0, 1, 40);
  const int posters[4] = {};
  CHECK(doorbells.ring(0, {.thread = &posters[0]}, 0, costs) == 40);
  CHECK(doorbells.ring(1, {.thread = &posters[1]}, 0, costs) == 40 + 140);
  CHECK(doorbells.ring(2, {.thread = &posters[2]}, 0, costs) == 40 + 140 + 147);
  CHECK(doorbells.ring(3, {.thread = &posters[3]}, 0, costs) == 40 + 140 + 147 + 154);
  // At 400 the third has released it (327) and the last one has it (481).
  CHECK(doorbells.ring(0, {.thread = &posters[0]}, 400, costs) == 81 + 140);
}

TEST_CASE("a request cache holds the latest", "[nic_requests]") {
  Rng rng(1, 0, Purpose::models);
  const auto policy = GENERATE(CacheProfile::Policy::lru, CacheProfile::Policy::fifo);
  RequestCache cache({.entries = 2, .policy = policy, .miss = 100, .parallel_misses = 1}, rng);
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(cache.enter() == i);
  CHECK(cache.find(3, 7) == 7);
  CHECK(cache.find(2, 7) == 7);
  CHECK(cache.find(1, 7) == 107);
  CHECK(cache.find(0, 7) == 207);
  CHECK(cache.misses() == 2);
  // What was fetched again took room.
  CHECK(cache.find(3, 500) == 600);
}

TEST_CASE("of random requests so many are left as have not been thrown out", "[nic_requests]") {
  Rng rng(1, 0, Purpose::models);
  constexpr std::uint64_t since = 50;
  constexpr double entries = 100;
  constexpr int tries = 100'000;
  int misses = 0;
  for (int i = 0; i < tries; ++i) {
    RequestCache cache({.entries = 100, .policy = CacheProfile::Policy::random, .miss = 1}, rng);
    for (std::uint64_t k = 0; k <= since; ++k) (void)cache.enter();
    misses += cache.find(0, 0) > 0 ? 1 : 0;
  }
  const double expected = 1 - std::pow(1 - 1 / entries, since);  // 0.395; 0.0016 is one standard deviation
  CHECK(static_cast<double>(misses) / tries == Approx(expected).margin(0.008));
}

TEST_CASE("a request cache of no entries holds all", "[nic_requests]") {
  Rng rng(1, 0, Purpose::models);
  RequestCache cache({}, rng);
  for (int i = 0; i < 1000; ++i) (void)cache.enter();
  CHECK(cache.find(0, 5) == 5);
  CHECK(cache.misses() == 0);
}

}  // namespace
}  // namespace rkv::sim::test
