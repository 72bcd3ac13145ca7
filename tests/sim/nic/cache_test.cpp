#include <catch2/catch.hpp>
#include <cmath>
#include <list>

#include "backends/sim/nic/cache.hpp"
#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {
namespace {

using Policy = CacheProfile::Policy;

TEST_CASE("uniform use of Q contexts with room for C misses with probability 1 - C/Q", "[nic_cache]") {
  const Policy policy = GENERATE(Policy::lru, Policy::fifo, Policy::random);
  const std::uint32_t entries = GENERATE(1U, 64U, 200U, 400U);
  constexpr std::uint64_t contexts = 400;
  Rng rng(7, 0, Purpose::models);
  Rng use(8, 0, Purpose::key);
  ContextCache cache({.entries = entries, .policy = policy}, rng);
  for (int i = 0; i < 20'000; ++i) cache.access(use.below(contexts), 0);
  const std::uint64_t before = cache.misses();
  constexpr int uses = 200'000;
  for (int i = 0; i < uses; ++i) cache.access(use.below(contexts), 0);
  const double missed = static_cast<double>(cache.misses() - before) / uses;
  const double expected = 1 - static_cast<double>(entries) / contexts;
  CHECK(std::abs(missed - expected) < 4 * std::sqrt(0.25 / uses));  // four standard deviations at the most
}

TEST_CASE("a cache holds what a plain list of the policy holds", "[nic_cache]") {
  const Policy policy = GENERATE(Policy::lru, Policy::fifo);
  const std::uint32_t entries = GENERATE(1U, 2U, 7U);
  Rng rng(1, 0, Purpose::models);
  Rng use(GENERATE(range(1, 6)), 0, Purpose::key);
  ContextCache cache({.entries = entries, .policy = policy}, rng);
  std::list<std::uint64_t> held;  // the next to go first
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t id = use.below(12);
    const auto found = std::find(held.begin(), held.end(), id);
    const bool hit = found != held.end();
    if (hit && policy == Policy::lru) held.splice(held.end(), held, found);
    if (!hit) {
      if (held.size() == entries) held.pop_front();
      held.push_back(id);
    }
    const std::uint64_t before = cache.misses();
    cache.access(id, 0);
    REQUIRE((cache.misses() == before) == hit);
  }
}

TEST_CASE("a cache of no entries never misses", "[nic_cache]") {
  Rng rng(1, 0, Purpose::models);
  ContextCache cache({}, rng);
  for (std::uint64_t id = 0; id < 1000; ++id) REQUIRE(cache.access(id, 5) == 5);
  CHECK(cache.misses() == 0);
}

TEST_CASE("bytes and bytes an entry give the number of entries", "[nic_cache]") {
  CHECK(cache_entries({.entries = 5}) == 5);
  CHECK(cache_entries({.entries = 5, .bytes = 1000, .bytes_an_entry = 300}) == 3);
  CHECK(cache_entries({.bytes = 100, .bytes_an_entry = 300}) == 1);
}

TEST_CASE("a fetch may be put off", "[nic_cache]") {
  Rng rng(1, 0, Purpose::models);
  ContextCache cache({.entries = 1, .miss = 100 * ns}, rng);
  const auto put_off = [](Ps fetched) { return fetched + 200 * ns; };
  CHECK(cache.access(1, 0, put_off) == 300 * ns);
  CHECK(cache.access(1, 50 * ns, put_off) == 300 * ns);  // the same fetch
  CHECK(cache.access(1, 301 * ns, put_off) == 301 * ns);
  CHECK(cache.misses() == 1);
}

TEST_CASE("misses under way are limited, and one on its way is waited for", "[nic_cache]") {
  Rng rng(1, 0, Purpose::models);
  ContextCache cache({.entries = 10, .miss = 100 * ns, .parallel_misses = 2}, rng);
  CHECK(cache.access(1, 0) == 100 * ns);
  CHECK(cache.access(2, 0) == 100 * ns);
  CHECK(cache.access(3, 0) == 200 * ns);        // behind the first
  CHECK(cache.access(4, 50 * ns) == 200 * ns);  // behind the second
  CHECK(cache.access(1, 60 * ns) == 100 * ns);  // the same fetch
  CHECK(cache.access(1, 150 * ns) == 150 * ns);
  CHECK(cache.misses() == 4);
  CHECK(cache.accesses() == 6);
}

}  // namespace
}  // namespace rkv::sim::test
