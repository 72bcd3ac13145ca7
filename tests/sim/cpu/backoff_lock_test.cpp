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

TEST_CASE("who has spun for a while yields, then sleeps, and tries again until a backoff lock is free",
          "[backoff_lock]") {
  BackoffLocks locks(free_profile(2));
  std::array<Ps, 2> taken{};
  const auto [held, expected] = GENERATE(table<Ps, Ps>({
      {3'200 * ns, 3'500 * ns},  // tries at 1, 1.5, 2 us and so on
      {100 * us, 149 * us},      // the last of these at 9 us, then at 79 and 149
  }));
  locks.run({locks.passage(0, held, taken[0]), locks.passage(0, 0, taken[1])});
  CHECK(taken == std::array<Ps, 2>{0, expected});
}

TEST_CASE("who waits for a backoff lock lets others have its CPU", "[backoff_lock]") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = GENERATE(SchedulerProfile::Kind::cfs, SchedulerProfile::Kind::eevdf);
  BackoffLocks locks(profile);
  std::array<Ps, 2> taken{};
  Ps done = 0;
  locks.run({locks.passage(0, 1 * ms, taken[0]), locks.passage(0, 0, taken[1]),
             [&] {
               work(locks.simulation, 1'500 * us);
               done = locks.simulation.world().now();
             }},
            {{0}, {1}, {1}});
  // The second one spins for 1 us and has its CPU again when the third is through.
  CHECK(done == 1'501 * us);
  CHECK(taken == std::array<Ps, 2>{0, done + BackoffLock::yield});
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
