// Threads of other programs that linger beside the program's, with numbers worked out by hand.
#include "backends/sim/cpu/stranger.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/sim/cpu/core.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

SchedulerProfile in_groups() {
  return {.kind = SchedulerProfile::Kind::eevdf, .tick = 4 * ms, .slice = 1 * ms, .grouped = true};
}

// Beside one that ran for so long, the program's share of the CPU has gone from one half to a bit more and
// back every 10 us: whether it still lingers after a second.
bool lingers_for_a_second(Ps ran) {
  Stranger stranger(in_groups());
  stranger.sleeps(0, ran, 1);
  for (int change = 1; change <= 100'000; ++change)
    stranger.weigh(change * 10 * us, change % 2 == 0 ? 0.5 : 0.501);
  return stranger.lingers(1000 * ms);
}

TEST_CASE("a stranger lingers until the program has had as much of the CPU") {
  Stranger stranger(in_groups());
  CHECK_FALSE(stranger.lingers(0));
  stranger.sleeps(0, 1 * ms, 1);
  CHECK(stranger.lingers(999 * us));  // nobody comes or leaves
  CHECK_FALSE(stranger.lingers(1 * ms));
  CHECK_FALSE(stranger.weigh(900 * us, 1));  // its share is what it was
  CHECK(stranger.lingers(999 * us));
  CHECK_FALSE(stranger.lingers(1 * ms));
  // A program of half a weight takes half the time.
  stranger.sleeps(2 * ms, 1 * ms, 0.5);
  CHECK(stranger.lingers(2'499 * us));
  CHECK_FALSE(stranger.lingers(2'500 * us));
}

TEST_CASE("when the program's share changes, a stranger that lingers gets further ahead") {
  Stranger stranger(in_groups());
  stranger.sleeps(0, 1 * ms, 1);
  // 0.99 ms ahead, times 1 + 0.5 / 1.5^2: 1.21 ms. A program of half a weight takes 605 us for that.
  CHECK(stranger.weigh(10 * us, 0.5));
  CHECK(stranger.lingers(614 * us));
  CHECK_FALSE(stranger.lingers(616 * us));
}

TEST_CASE("nothing happens to the program while a stranger has its CPU") {
  Stranger stranger(in_groups());
  stranger.sleeps(1 * ms, 1 * ms, 1);
  CHECK_FALSE(stranger.weigh(500 * us, 0.5));
  CHECK(stranger.lingers(1'990 * us));
  CHECK_FALSE(stranger.lingers(2 * ms));
}

TEST_CASE("a lag is of a tick at most when it is scaled") {
  Stranger stranger(in_groups());
  stranger.sleeps(0, 100 * ms, 1);
  // The lag, over a share of 0.5, is 8 ms, so it is 12 ms ahead, then 14.67 ms: 7.33 ms of the CPU.
  CHECK(stranger.weigh(0, 0.5));
  CHECK(stranger.lingers(7'330 * us));
  CHECK_FALSE(stranger.lingers(7'340 * us));
}

// D grows by 0.222 of itself and shrinks by 20 us, at equal times: it stays if it is more than 90 us.
TEST_CASE("who ran for long never gets out while the program's share changes, who ran shortly does") {
  CHECK_FALSE(lingers_for_a_second(20 * us));
  CHECK_FALSE(lingers_for_a_second(80 * us));
  CHECK(lingers_for_a_second(100 * us));
  CHECK(lingers_for_a_second(1 * ms));
}

TEST_CASE("a stranger goes when the CPU has nothing else to do, and without groups it never lingers") {
  Stranger stranger(in_groups());
  stranger.sleeps(0, 1 * ms, 1);
  stranger.leaves(0);
  CHECK_FALSE(stranger.lingers(0));
  SchedulerProfile alone = in_groups();
  alone.grouped = false;
  Stranger other(alone);
  other.sleeps(0, 1 * ms, 1);
  CHECK_FALSE(other.lingers(0));
  SchedulerProfile fair = in_groups();
  fair.kind = SchedulerProfile::Kind::cfs;
  Stranger third(fair);
  third.sleeps(0, 1 * ms, 1);
  CHECK_FALSE(third.lingers(0));
}

TEST_CASE("a stranger counts in the CPU's load while it runs and lingers, and ever less from then on") {
  Stranger stranger(in_groups());
  CHECK(stranger.load(5 * ms) == 0);
  stranger.sleeps(40 * ms, 32 * ms, 1);  // it has run from 8 ms on
  CHECK(stranger.load(40 * ms) == Approx(0.5));
  CHECK(stranger.load(72 * ms) == Approx(0.75));
  CHECK(stranger.load(104 * ms) == Approx(0.375));
  stranger.sleeps(136 * ms, 0, 1);
  CHECK(stranger.load(168 * ms) == Approx(0.09375));
}

TEST_CASE(
    "a stranger leaves the queue, and counts less, from the tick on by which it is not ahead any more") {
  Stranger stranger(in_groups());
  stranger.sleeps(40 * ms, 32 * ms, 13.0 / 32);  // not ahead at 53 ms, gone at 56
  CHECK(stranger.load(56 * ms) == Approx(1 - std::exp2(-48.0 / 32)));
  CHECK(stranger.load(88 * ms) == Approx((1 - std::exp2(-48.0 / 32)) / 2));
  stranger.sleeps(32'000 * ms, 32 * ms, 1);
  stranger.leaves(32'000 * ms);
  CHECK(stranger.load(32'032 * ms) == Approx(0.25));
}

TEST_CASE("a stranger that is taken to another CPU lingers there, and counts there with all that it did") {
  Stranger here(in_groups());
  Stranger there(in_groups());
  there.sleeps(8 * ms, 8 * ms, 1);
  const double counted = 1 - std::exp2(-12.0 / 32);  // it has run from 0 on
  CHECK(there.load(12 * ms) == Approx(counted));
  // 4 of the 8 ms that it was ahead are left. Beside a program of half a weight they take 2 ms, and it is out
  // at the tick after that.
  here.take(there, 12 * ms, 0.5);
  CHECK_FALSE(there.lingers(12 * ms));
  CHECK(there.load(12 * ms) == 0);
  CHECK(here.load(12 * ms) == Approx(counted));
  CHECK(here.lingers(13'999 * us));
  CHECK_FALSE(here.lingers(14 * ms));
  const double out = 1 - std::exp2(-16.0 / 32);
  CHECK(here.load(16 * ms) == Approx(out));
  CHECK(here.load(48 * ms) == Approx(out / 2));
}

TEST_CASE("a heavy stranger counts by its weight while it runs, and leaves at once") {
  Stranger stranger(in_groups());
  stranger.goes(40 * ms, 32 * ms, 9);  // it has run from 8 ms on
  CHECK_FALSE(stranger.lingers(40 * ms));
  CHECK(stranger.load(40 * ms) == Approx(9 * 0.5));
  CHECK(stranger.load(72 * ms) == Approx(9 * 0.25));
  // Beside one that lingers from 1 to 2 ms.
  Stranger both(in_groups());
  both.sleeps(1 * ms, 1 * ms, 1);
  both.goes(1'500 * us, 500 * us, 9);
  CHECK(both.lingers(1'999 * us));
  const auto left = [](Ps of, Ps after) { return std::exp2(-static_cast<double>(after - of) / (32 * ms)); };
  // Up to the tick at 4 ms the one is in the queue, in all.
  CHECK(both.load(4 * ms) ==
        Approx((1 - left(0, 4 * ms)) + 9 * (1 - left(0, 500 * us)) * left(1'500 * us, 4 * ms)));
  SchedulerProfile alone = in_groups();
  alone.grouped = false;
  Stranger none(alone);
  none.goes(40 * ms, 32 * ms, 9);
  CHECK(none.load(40 * ms) == 0);
}

// Five threads that work and nap by turns on CPU 0, one on the last CPU: how often they lose the CPU within
// 0.3 s.
std::uint64_t losses(std::uint32_t cpus, bool grouped) {
  Profile profile = free_profile(cpus);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.background_hz = 50;
  profile.server.scheduler.background_long_hz = 50;
  profile.server.scheduler.grouped = grouped;
  Run run(profile);
  std::uint64_t lost = 0;
  const auto napper = [&](Ps busy) {
    return [&, busy] {
      SimRuntime runtime(run.simulation, run.simulation.host(0));
      while (run.now() < 300 * ms) {
        work(run.simulation, busy);
        sleep_until(run, run.now() + 30 * us);
      }
      lost += runtime.usage().involuntary_switches;
    };
  };
  run({napper(10 * us), napper(11 * us), napper(13 * us), napper(17 * us), napper(19 * us), napper(10 * us)},
      {{0}, {0}, {0}, {0}, {0}, {static_cast<int>(cpus) - 1}});
  return lost;
}

TEST_CASE("beside a stranger whoever wakes has the CPU given to whose turn it is") {
  const std::uint64_t alone = losses(2, false);
  const std::uint64_t grouped = losses(2, true);
  CHECK(grouped > alone * 3 / 2);
  // On one CPU the program's share of it stays what it is.
  CHECK(losses(1, true) < losses(1, false) * 21 / 20);
}

TEST_CASE("strangers come as often to a CPU that mostly switches") {
  Profile profile = free_profile(1);
  profile.server.scheduler.background_hz = 1000;
  profile.server.scheduler.switch_cost = GENERATE(0, 50) * us;
  Run run(profile);
  std::uint64_t lost = 0;
  const auto napper = [&] {
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    while (run.now() < 1000 * ms) {
      work(run.simulation, 10 * us);
      sleep_until(run, run.now() + 1 * us);
    }
    lost += runtime.usage().involuntary_switches;
  };
  run({napper, napper});
  // Almost always somebody runs, or is switched to.
  CHECK(lost > 800);
  CHECK(lost < 1200);
}

struct Strangers {
  Ps run = 1 * ms;
  double weight = 1;
  double moving = 1;
};

// Of threads that work, and nap between two works, on two CPUs: how often one finds itself on the other CPU
// within 0.3 s. They begin half on the one, half on the other, and nobody wakes another one.
std::size_t moves(std::size_t threads, Ps nap, bool grouped, const Strangers& strangers = {}) {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.balance_interval = 8 * ms;
  profile.server.scheduler.background_hz = 50;
  profile.server.scheduler.background_long_hz = 50;
  profile.server.scheduler.background_long = strangers.run;
  profile.server.scheduler.background_heavy_part = strangers.weight > 1 ? 1 : 0;
  profile.server.scheduler.background_heavy_weight = strangers.weight;
  profile.server.scheduler.background_moving = strangers.moving;
  profile.server.scheduler.grouped = grouped;
  Run run(profile);
  std::size_t moved = 0;
  const auto worker = [&] {
    const Core* last = run.simulation.world().current()->core;
    while (run.now() < 300 * ms) {
      work(run.simulation, 20 * us);
      if (nap > 0) sleep_until(run, run.now() + nap);
      const Core* here = run.simulation.world().current()->core;
      moved += here == last ? 0 : 1;
      last = here;
    }
  };
  run(std::vector<std::function<void()>>(threads, worker));
  return moved;
}

TEST_CASE("a stranger weighs as much as the program, and CPUs are evened out by that") {
  CHECK(moves(8, 20 * us, false) == 0);
  CHECK(moves(8, 20 * us, true) > 0);
}

// Nearly always: were threads taken then, ten would be.
TEST_CASE("threads that have just run stay, and the stranger is taken") {
  CHECK(moves(4, 5 * us, true) <= 2);
}

TEST_CASE("few threads that never sleep stay where they are beside strangers, of many some move") {
  CHECK(moves(4, 0, true) == 0);
  CHECK(moves(16, 0, true, {.run = 6 * ms}) > 4 * moves(16, 0, false, {.run = 6 * ms}));
}

// What two threads of one CPU could do while strangers came for 1 ms each, 100 times a second to two CPUs,
// over what two of the other one could, which did more.
double less_done(double moving) {
  Profile profile = free_profile(2);
  profile.server.scheduler.background_hz = 50;
  profile.server.scheduler.background_long_hz = 50;
  profile.server.scheduler.background_moving = moving;
  Run run(profile);
  std::array<double, 2> done{};
  const auto worker = [&](std::size_t cpu) {
    return [&, cpu] {
      for (; run.now() < 300 * ms; done[cpu] += 1) work(run.simulation, 100 * us);
    };
  };
  run({worker(0), worker(0), worker(1), worker(1)}, {{0}, {0}, {1}, {1}});
  return std::min(done[0], done[1]) / std::max(done[0], done[1]);
}

TEST_CASE("strangers that run for long stay on a CPU, if they do not move") {
  CHECK(less_done(0) == Approx(0.9).margin(0.03));
  CHECK(less_done(1) > 0.95);
}

TEST_CASE("beside a heavy stranger even few threads are moved, most where it stays on a CPU") {
  CHECK(moves(4, 0, true, {.weight = 9}) > 3 * moves(4, 0, false, {.weight = 9}));
  CHECK(moves(4, 0, true, {.weight = 9, .moving = 0}) > moves(4, 0, true, {.weight = 9}));
}

}  // namespace
}  // namespace rkv::sim::test
