// The card's parts, each alone.
#include <catch2/catch.hpp>

#include "backends/sim/nic/doorbell.hpp"
#include "backends/sim/nic/pcie.hpp"
#include "backends/sim/nic/request_cache.hpp"
#include "backends/sim/nic/units.hpp"

namespace rkv::sim::test {
namespace {

constexpr Ps ns = 1'000;

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
  Pcie pcie(200 * ns, 2);
  CHECK(pcie.read(0, 100).end == (200 + 50 + 200) * ns);
  const Pcie::Passage second = pcie.read(0, 100);
  CHECK(second.waited == 50 * ns);
  CHECK(second.end == (200 + 50 + 50 + 200) * ns);
  // Writes go the other way.
  CHECK(pcie.write(0, 100).end == (50 + 200) * ns);
  CHECK(pcie.write(20 * ns, 10).waited == 30 * ns);
  CHECK(pcie.write(300 * ns, 0).end == 500 * ns);
}

TEST_CASE("a doorbell register of one's own costs its write", "[nic_doorbell]") {
  Doorbells doorbells(1, 40, 100);
  const int a = 0;
  const int b = 0;
  CHECK(doorbells.ring(&a, 0) == 40);
  CHECK(doorbells.ring(&b, 0) == 40);
  CHECK(doorbells.ring(&a, 0) == 40);
}

TEST_CASE("a shared doorbell register is waited for and handed over", "[nic_doorbell]") {
  Doorbells doorbells(2, 40, 100);
  const int a = 0;
  const int b = 0;
  const int c = 0;
  CHECK(doorbells.ring(&a, 0) == 40);
  CHECK(doorbells.ring(&b, 10) == 30 + 100 + 40);  // locked until 40
  CHECK(doorbells.ring(&c, 10) == 40);             // the next register
  CHECK(doorbells.ring(&b, 1000) == 40);           // had it last
  CHECK(doorbells.ring(&a, 2000) == 100 + 40);
}

TEST_CASE("requests beyond the cache's room are fetched again", "[nic_requests]") {
  RequestCache cache({.entries = 2, .miss = 100, .parallel_misses = 1});
  CHECK(cache.enter(0) == 0);
  CHECK(cache.enter(0) == 0);
  CHECK(cache.enter(0) == 100);
  CHECK(cache.enter(0) == 200);
  CHECK(cache.outstanding() == 4);
  for (int i = 0; i < 3; ++i) cache.leave();
  CHECK(cache.enter(500) == 500);
  CHECK(cache.enter(500) == 600);
  CHECK(cache.misses() == 3);
}

TEST_CASE("a request cache of no entries holds all", "[nic_requests]") {
  RequestCache cache({});
  for (int i = 0; i < 1000; ++i) REQUIRE(cache.enter(i) == i);
  CHECK(cache.misses() == 0);
}

}  // namespace
}  // namespace rkv::sim::test
