// Locks that threads spin for: what a hand-over costs, in which order, and that a preempted holder keeps
// them.
#include "backends/sim/cpu/spin_lock.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/cpu/lock_fixture.hpp"

namespace rkv::sim::test {
namespace {

constexpr HandOver costs{.hand_over = 100 * ns, .a_waiter = 7 * ns};

struct SpinLocks : Passages<SpinLock> {
  explicit SpinLocks(std::uint32_t cpus) : SpinLocks(free_profile(cpus), costs) {}
  SpinLocks(const Profile& profile, const HandOver& its_costs) : Passages(profile, its_costs) {}
};

TEST_CASE("a spin lock costs nothing to who had it last, and a hand-over to others", "[spin_lock]") {
  SpinLocks locks(2);
  Ps first = 0;
  Ps again = 0;
  Ps other = 0;
  const auto once = locks.passage(1 * us, 300 * ns, first);
  const auto twice = locks.passage(0, 200 * ns, again);
  locks.run({[&] {
               once();
               twice();
             },
             locks.passage(10 * us, 0, other)});
  CHECK(first == 1 * us);
  CHECK(again == 1 * us + 300 * ns);
  CHECK(other == 10 * us + 100 * ns);
}

TEST_CASE("a spin lock goes to the first in line, the later the more wait", "[spin_lock]") {
  SpinLocks locks(4);
  std::array<Ps, 4> taken{};
  locks.run({locks.passage(0, 1000 * ns, taken[0]), locks.passage(30 * ns, 200 * ns, taken[1]),
             locks.passage(10 * ns, 200 * ns, taken[2]), locks.passage(20 * ns, 200 * ns, taken[3])});
  CHECK(taken[0] == 0);
  CHECK(taken[2] == (1000 + 100 + 2 * 7) * ns);
  CHECK(taken[3] == taken[2] + (200 + 100 + 7) * ns);
  CHECK(taken[1] == taken[3] + (200 + 100) * ns);
  CHECK(locks.simulation.world().spent().of(Spent::lock) ==
        taken[1] + taken[2] + taken[3] - (30 + 10 + 20) * ns);
}

TEST_CASE("a hand-over between sockets takes longer, and siblings do not make it so", "[spin_lock]") {
  Profile profile = free_profile(2);
  profile.server.cpu.sockets = 2;
  SpinLocks locks(profile, {.hand_over = 100 * ns, .a_waiter = 8 * ns, .remote_factor = 1.5, .cores = 1});
  std::array<Ps, 4> taken{};
  locks.run({locks.passage(0, 1000 * ns, taken[0]), locks.passage(10 * ns, 200 * ns, taken[1]),
             locks.passage(20 * ns, 200 * ns, taken[2]), locks.passage(30 * ns, 200 * ns, taken[3])},
            {{0}, {1}, {2}, {3}});
  CHECK(taken[1] == (1000 + 100 + 8) * ns);  // two are left in line, of which one counts
  CHECK(taken[2] == taken[1] + (200 + 162) * ns);
  CHECK(taken[3] == taken[2] + (200 + 100) * ns);
}

TEST_CASE("a preempted holder of a spin lock keeps it", "[spin_lock]") {
  SpinLocks locks(2);
  Ps held = 0;
  Ps waited = 0;
  // On the holder's CPU another thread takes the CPU at the first tick at which its slice of 3 ms is over.
  locks.run({locks.passage(0, 5 * ms, held), [&] { work(locks.simulation, 5 * ms); },
             locks.passage(1 * us, 0, waited)},
            {{0}, {0}, {1}});
  CHECK(held == 0);
  CHECK(waited > 8 * ms);
}

TEST_CASE("a spin lock passes over who waits for it without a CPU", "[spin_lock]") {
  SpinLocks locks(3);
  Ps held = 0;
  Ps without_cpu = 0;
  Ps behind = 0;
  // The first in line has CPU 1 for the first 3 ms, and from 6 ms on, when another's slice is over.
  locks.run({locks.passage(0, 4 * ms, held), locks.passage(1 * us, 0, without_cpu),
             [&] { work(locks.simulation, 5 * ms); }, locks.passage(1 * ms, 500 * us, behind)},
            {{0}, {1}, {1}, {2}});
  CHECK(behind == 4 * ms + 100 * ns);
  CHECK(without_cpu == 6 * ms + 100 * ns);  // it is free by then
}

}  // namespace
}  // namespace rkv::sim::test
