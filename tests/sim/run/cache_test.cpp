// The card's cache of contexts in a whole point: with clients that are used at random, all alike and rarely
// at the same time, whichever entry it throws out, each finds its context there with the probability entries
// / queue pairs.
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t many_clients = 64;
constexpr std::uint64_t many_operations = 20'000;

double context_miss_ns(const CacheProfile& cache) {
  Profile profile = free_profile(many_clients);
  profile.nic.qp_cache = cache;
  Scenario scenario = golden_scenario(Transport::rc, CompletionMode::event);
  scenario.trace = false;
  scenario.load.total_operations = many_operations;
  scenario.load.arrivals = {.kind = Arrivals::Kind::poisson, .rate_ops_s = 20'000};
  const SimulatedPoint point = simulate_point(profile, scenario, many_clients, {});
  REQUIRE(point.result.operations.total() == many_operations);
  const auto& spent = point.result.time_spent_ns;
  const auto found = spent.find("context_miss");
  return found == spent.end() ? 0 : found->second;
}

TEST_CASE("misses of contexts follow from entries and queue pairs", "[cache]") {
  using Policy = CacheProfile::Policy;
  const auto policy = GENERATE(Policy::random, Policy::lru, Policy::fifo);
  const auto entries = GENERATE(8U, 16U, 48U);
  CAPTURE(static_cast<int>(policy), entries);
  const CacheProfile cache{.entries = entries, .policy = policy, .miss = 500 * ns};
  const double misses = context_miss_ns(cache) / 500;
  // An operation uses the client's context on its card and on the server's, twice each within microseconds:
  // the second time it is still there.
  const double missing = 1 - static_cast<double>(entries) / many_clients;
  const double cards = 2;
  const double deviation = cards * std::sqrt(missing * (1 - missing) /
                                             static_cast<double>(many_operations));  // as if both went alike
  const double cold = cards * many_clients / static_cast<double>(many_operations);   // at most
  CHECK(misses > cards * missing - 5 * deviation - cold);
  CHECK(misses < cards * missing + 5 * deviation + cold);
}

TEST_CASE("a cache that holds every context misses each once", "[cache]") {
  const double misses = context_miss_ns({.entries = many_clients, .miss = 500 * ns}) / 500;
  CHECK(misses * static_cast<double>(many_operations) == Approx(2 * many_clients));
}

TEST_CASE("clients that take turns miss their contexts at their turns' beginnings", "[cache]") {
  constexpr std::uint32_t group = 8;
  constexpr std::uint32_t window = 16;
  const Duration turn = 200us;
  Profile profile = free_profile(many_clients);
  profile.nic.qp_cache = {.entries = 2 * group, .policy = CacheProfile::Policy::lru, .miss = 500 * ns};
  Scenario scenario = golden_scenario(Transport::rc, CompletionMode::busy);
  scenario.trace = false;
  scenario.load.total_operations = many_operations;
  scenario.load.window = window;  // so that a group keeps the card busy
  const auto run = [&] {
    const SimulatedPoint point = simulate_point(profile, scenario, many_clients, {});
    REQUIRE(point.result.operations.total() == many_operations);
    const double misses =
        point.result.time_spent_ns.at("context_miss") * static_cast<double>(many_operations) / 500;
    return std::pair(misses, point.result.window.length());
  };
  const auto [all_misses, all_length] = run();
  CHECK(all_misses > 2.0 * many_operations);  // 64 contexts in turn, and 16 of them at a time
  scenario.load.turns = {.clients = group, .length = turn};
  const auto [misses, length] = run();
  const auto turns = static_cast<double>(length / turn);
  CHECK(misses >= 2 * group * (turns - 1));
  // What comes while a context is fetched misses it, too.
  CHECK(misses <= 2 * group * window * (turns + 1));
  CHECK(length < all_length);
}

}  // namespace
}  // namespace rkv::sim::test
