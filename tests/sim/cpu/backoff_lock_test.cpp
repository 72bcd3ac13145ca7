// Locks that threads spin for only a while: who gets them, and what becomes of those whose holder has lost
// its CPU.
#include "backends/sim/cpu/backoff_lock.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/cpu/lock_fixture.hpp"

namespace rkv::sim::test {
namespace {

using BackoffLocks = Passages<BackoffLock>;

TEST_CASE("a backoff lock costs nothing, and goes to who has spun longest at its release", "[backoff_lock]") {
  BackoffLocks locks(free_profile(3));
  std::array<Ps, 3> taken{};
  locks.run({locks.passage(0, 600 * ns, taken[0]), locks.passage(20 * ns, 100 * ns, taken[1]),
             locks.passage(10 * ns, 100 * ns, taken[2])});
  CHECK(taken == std::array<Ps, 3>{0, 700 * ns, 600 * ns});
  CHECK(locks.simulation.world().spent().of(Spent::lock) == (680 + 590) * ns);
}

TEST_CASE("who has spun for a while sleeps, and tries again until a backoff lock is free", "[backoff_lock]") {
  BackoffLocks locks(free_profile(2));
  std::array<Ps, 2> taken{};
  locks.run({locks.passage(0, 100 * us, taken[0]), locks.passage(0, 0, taken[1])});
  // Tries at 1, 71 and 141 us.
  CHECK(taken == std::array<Ps, 2>{0, BackoffLock::spin + 2 * BackoffLock::nap});
}

TEST_CASE("a holder that is preempted keeps its backoff lock", "[backoff_lock]") {
  BackoffLocks locks(free_profile(2));
  std::array<Ps, 2> taken{};
  // The first one loses its CPU at 3 ms for a slice of 3 ms, and has it again from 6 to 7 ms.
  locks.run({locks.passage(0, 4 * ms, taken[0]), [&] { work(locks.simulation, 6 * ms); },
             locks.passage(2 * ms, 0, taken[1])},
            {{0}, {0}, {1}});
  CHECK(taken[1] >= 7 * ms);
  CHECK(taken[1] < 7 * ms + BackoffLock::nap);
}

}  // namespace
}  // namespace rkv::sim::test
