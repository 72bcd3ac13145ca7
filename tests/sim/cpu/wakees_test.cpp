// Whom a waker has woken: what counts, when it is forgotten, and who is wide to whom.
#include "backends/sim/cpu/wakees.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

constexpr Ps second = 1000 * ms;

template <class Body>
void with_two_threads(const Body& body) {
  Run run(free_profile(1));
  run({[&] {
         const auto& threads = run.simulation.threads();
         body(*threads[0], *threads[1]);
       },
       [] {}});
}

TEST_CASE("a wake-up counts if it is another thread's than the last one", "[wakees]") {
  with_two_threads([](const Thread& one, const Thread& other) {
    Wakees wakees{.flips = 0, .since = 0};
    for (const Thread* woken : {&one, &one, &other, &other, &other, &one}) wakees.count(*woken, 1 * ms, 1);
    CHECK(wakees.flips == 3);
    wakees.count(other, 1 * ms, 100);
    CHECK(wakees.flips == 103);
  });
}

TEST_CASE("the first wake-up more than a second after the count began begins a new one", "[wakees]") {
  with_two_threads([](const Thread& one, const Thread& other) {
    Wakees wakees{.flips = 7, .since = 5 * ms, .settled = true};
    wakees.count(one, 5 * ms + second, 1);
    CHECK(wakees.flips == 8);
    CHECK(wakees.since == 5 * ms);
    CHECK(wakees.settled);
    wakees.count(other, 6 * ms + second, 1);
    CHECK(wakees.flips == 1);
    CHECK(wakees.since == 6 * ms + second);
    CHECK_FALSE(wakees.settled);
    // No new one of the same thread: it is remembered as the last.
    wakees.count(other, 7 * ms + 2 * second, 1);
    CHECK(wakees.flips == 0);
  });
}

TEST_CASE("the counts' clock shows the world's time until it is set, and goes on from there as fast as asked",
          "[wakees]") {
  WakeesClock clock;
  CHECK(clock.at(7 * ms) == 7 * ms);
  CHECK(clock.times() == 1);
  clock.set(10 * ms, 3 * second, 100);
  CHECK(clock.at(10 * ms) == 3 * second);
  CHECK(clock.at(12 * ms) == 3 * second + 200 * ms);
  CHECK(clock.times() == 100);
}

TEST_CASE(
    "a waker is wide to a thread whose flips are more than a socket's CPUs, and its own so many times as "
    "many",
    "[wakees]") {
  const auto wide = [](std::uint32_t waker, std::uint32_t woken) {
    return is_wide({.flips = waker, .since = 0}, {.flips = woken, .since = 0}, 8);
  };
  CHECK_FALSE(wide(1'000'000, 8));
  CHECK(wide(1'000'000, 9));
  CHECK_FALSE(wide(72, 9));
  CHECK(wide(73, 9));
}

TEST_CASE("by the later rule the first wake-up more than a second after the last halving halves the count",
          "[wakees]") {
  with_two_threads([](const Thread& one, const Thread& other) {
    Wakees wakees{.flips = 7, .since = 5 * ms};
    wakees.count_halving(one, 5 * ms + second);
    CHECK(wakees.flips == 8);
    CHECK(wakees.since == 5 * ms);
    wakees.count_halving(one, 6 * ms + second);
    CHECK(wakees.flips == 4);
    CHECK(wakees.since == 6 * ms + second);
    // Once, however long ago.
    wakees.count_halving(other, 6 * ms + 9 * second);
    CHECK(wakees.flips == 3);
  });
}

TEST_CASE(
    "by the later rule two threads are wide if the one's flips are as many as a socket's CPUs, and the "
    "other's so many times as many",
    "[wakees]") {
  const auto wide = [](std::uint32_t one, std::uint32_t other) {
    const Wakees ones{.flips = one, .since = 0};
    const Wakees others{.flips = other, .since = 0};
    CHECK(is_either_wide(ones, others, 8) == is_either_wide(others, ones, 8));
    return is_either_wide(ones, others, 8);
  };
  CHECK_FALSE(wide(1'000'000, 7));
  CHECK(wide(1'000'000, 8));
  CHECK_FALSE(wide(63, 8));
  CHECK(wide(64, 8));
}

}  // namespace
}  // namespace rkv::sim::test
