// Where new threads begin and what CPUs take over by their loads, with numbers worked out by hand.
#include "backends/sim/cpu/load_balance.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// `busy` of its time so far with one thread, `ready` of which are there now.
CpuLoad used(double busy, std::size_t ready) {
  LoadAverage average;
  average.pass(1'000 * ms, busy, busy, busy);  // long enough to be the mean
  return {.queued = ready, .average = average};
}

// So many threads have been ready on it for long.
CpuLoad crowded(double threads, std::size_t ready) {
  LoadAverage average;
  average.pass(1'000 * ms, threads, threads, 1);
  return {.queued = ready, .average = average};
}

TEST_CASE("what was 32 ms ago counts half") {
  LoadAverage average;
  average.pass(32 * ms, 2, 2, 1);
  CHECK(average.load() == Approx(1));
  CHECK(average.utilization() == Approx(0.5));
  average.pass(64 * ms, 0, 0, 0);
  CHECK(average.load() == Approx(0.5));
  CHECK(average.runnable() == Approx(0.5));
  CHECK(average.utilization() == Approx(0.25));
}

TEST_CASE("a CPU that another program has used counts ever less") {
  const auto of = [](Ps ago) {
    LoadAverage average;
    average.begin_used(ago);
    CHECK(average.load() == average.utilization());
    CHECK(average.load() == average.runnable());
    return average.load();
  };
  CHECK(of(0) == 1);
  CHECK(of(32 * ms) == Approx(0.5));
  CHECK(of(96 * ms) == Approx(0.125));
}

TEST_CASE("a new thread counts whole, and is expected to use what others do or half of what is free") {
  const LoadAverage alone = LoadAverage::of_new_thread({});
  CHECK(alone.load() == 1);
  CHECK(alone.utilization() == 0.5);
  CHECK(alone.runnable() == 0.5);
  LoadAverage one;
  one.pass(32 * ms, 1, 1, 1);  // half used
  CHECK(LoadAverage::of_new_thread(one).utilization() == Approx(0.25));
  LoadAverage little;
  little.pass(32 * ms, 8, 8, 0.4);  // 0.2 used by 4
  CHECK(LoadAverage::of_new_thread(little).utilization() == Approx(0.05));
  LoadAverage sum = one;
  sum.add(alone);
  CHECK(sum.load() == Approx(1.5));
  sum.remove(alone);
  CHECK(sum.utilization() == Approx(0.5));
}

TEST_CASE("a CPU is overloaded, full or has something to spare") {
  CHECK(occupancy(used(1, 0)) == Occupancy::spare);
  CHECK(occupancy(used(0.8, 1)) == Occupancy::spare);  // 0.8 x 1.17 = 0.94
  CHECK(occupancy(used(0.9, 1)) == Occupancy::full);   // 1.05
  CHECK(occupancy(used(0.9, 2)) == Occupancy::overloaded);
  CHECK(occupancy(used(0.8, 2)) == Occupancy::spare);
  CHECK(occupancy(crowded(2, 2)) == Occupancy::overloaded);
}

TEST_CASE("a new thread begins with its maker until that CPU has much more to do") {
  CHECK(begins_elsewhere(used(0.5, 1), used(0, 0)));        // an idle one
  CHECK_FALSE(begins_elsewhere(used(0.5, 2), used(0, 1)));  // both have something to spare
  CHECK(begins_elsewhere(used(0.9, 2), used(0.9, 1)));      // overloaded, full
  CHECK_FALSE(begins_elsewhere(used(0.9, 1), crowded(2, 2)));
  CHECK_FALSE(begins_elsewhere(crowded(7, 7), crowded(6, 6)));  // 7 / 6 = 1.167
  CHECK(begins_elsewhere(crowded(6, 6), crowded(5, 5)));        // 1.2
}

TEST_CASE("of other CPUs a new thread prefers the idle one, that with more to spare, that with less load") {
  CHECK(is_idler(used(0.5, 0), used(0, 1)));
  CHECK(is_idler(used(0.1, 1), used(0.2, 1)));
  CHECK_FALSE(is_idler(used(0.2, 1), used(0.1, 1)));
  CHECK(is_idler(used(0.9, 1), crowded(2, 2)));
  CHECK(is_idler(crowded(2, 2), crowded(3, 3)));
}

TEST_CASE("a busy CPU takes half the difference over, if that is more than 17 %") {
  CHECK(load_to_take(crowded(1, 1), crowded(3, 3), 2) == Approx(1));
  CHECK(load_to_take(crowded(2, 2), crowded(3, 3), 2.5) == Approx(0.5));
  CHECK(load_to_take(crowded(6, 6), crowded(7, 7), 6.5) == 0);  // 7 / 6 = 1.167
  CHECK(load_to_take(crowded(3, 3), crowded(2, 2), 2.5) == 0);  // it has more
  CHECK(load_to_take(used(0.5, 1), crowded(3, 3), 1.75) == 0);  // only idle CPUs fill what they have to spare
  CHECK(load_to_take(used(0.9, 1), used(0.95, 1), 0.925) == 0);  // nobody waits there
}

TEST_CASE("with each look in vain a thread that weighs twice as much is taken") {
  CHECK(is_taken(1, 1, 0, false));
  CHECK_FALSE(is_taken(1, 0.5, 0, false));
  CHECK(is_taken(1, 0.5, 1, false));
  CHECK_FALSE(is_taken(1, 0.2, 2, false));
  CHECK(is_taken(1, 0.2, 3, false));
  CHECK(is_taken(1, 0, 10'000, false));
}

TEST_CASE("a thread that has run a moment ago is taken at the third look that finds something to take") {
  CHECK_FALSE(is_taken(1, 1, 0, true));
  CHECK_FALSE(is_taken(1, 1, 1, true));
  CHECK(is_taken(1, 1, 2, true));
  CHECK_FALSE(is_taken(1, 0.2, 2, true));
  CHECK(is_taken(1, 0.2, 3, true));
}

Profile eevdf(std::uint32_t cpus) {
  Profile profile = free_profile(cpus);
  for (HostProfile* host : {&profile.server, &profile.client}) {
    host->scheduler.kind = SchedulerProfile::Kind::eevdf;
    host->scheduler.balance_interval = 20 * ms;
  }
  return profile;
}

int cpu_here(Run& run) {
  return run.simulation.world().current()->core->cpu();
}

// Of those that a run was given, behind the thread that makes them all.
Thread* given(Run& run, std::size_t i) {
  return run.simulation.threads()[i + 1].get();
}

// So many of the threads that a run was given go to the first CPU, the others to the second.
void take_to_first(Run& run, std::size_t threads, std::size_t taken) {
  std::vector<Processors::Seat> seats;
  for (std::size_t i = 0; i < threads; ++i) {
    seats.push_back({.thread = given(run, i), .cpu = i < taken ? 0U : 1U, .for_so_long = 0});
  }
  run.simulation.host(0).cpus().arrange(seats);
}

std::size_t count_on_first(Run& run, std::size_t threads) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < threads; ++i)
    count += run.simulation.host(0).cpus().core_of(*given(run, i)).cpu() == 0 ? 1 : 0;
  return count;
}

// So many threads spin on two CPUs. Some time after they began so many of them are taken to the first, the
// others to the second. How many are on the first a second later.
std::size_t left_on_first(std::size_t threads, std::size_t taken) {
  Run run(eevdf(2));
  std::size_t left = 0;
  std::vector<std::function<void()>> bodies(threads, [&] {
    while (run.now() < 1'500 * ms) work(run.simulation, 1 * ms);
  });
  bodies.emplace_back([&] {
    sleep_until(run, 300 * ms);
    take_to_first(run, threads, taken);
    sleep_until(run, 1'300 * ms);
    left = count_on_first(run, threads);
  });
  run(bodies);
  return left;
}

TEST_CASE("CPUs of EEVDF even out loads that differ by more than 17 %") {
  CHECK(left_on_first(4, 3) == 2);
  CHECK(left_on_first(4, 4) == 2);
  CHECK(left_on_first(13, 7) == 7);
  CHECK(left_on_first(13, 6) == 6);
  CHECK(left_on_first(14, 10) != 10);
}

// Eleven threads that spin on two CPUs, six of them on the first from 300 ms on: when that has six, five or
// any other number of them, up to 400 ms.
class Eleven final : public EventHandler {
 public:
  Eleven() : run_(eevdf(2)) {
    std::vector<std::function<void()>> bodies(threads, [&] {
      while (run_.now() < 500 * ms) work(run_.simulation, 1 * ms);
    });
    bodies.emplace_back([&] {
      sleep_until(run_, 300 * ms);
      take_to_first(run_, threads, 6);
      on_event(0);
    });
    run_(bodies);
  }
  std::vector<std::pair<Ps, std::size_t>> on_first;

  void on_event(std::uint64_t) override {
    const std::size_t now = count_on_first(run_, threads);
    if (on_first.empty() || on_first.back().second != now) on_first.emplace_back(run_.now(), now);
    if (run_.now() < 400 * ms) run_.simulation.world().at(run_.now() + 100 * us, *this, 0);
  }

 private:
  static constexpr std::size_t threads = 11;
  Run run_;
};

// Six are 1.2 times as many as five: half a thread is to be taken over, which is done at the second look. The
// first is 19 ms after one that found nothing, the second 9 ms after that one; 9 ms after that the CPU has
// six itself and finds nothing.
TEST_CASE("CPUs look at ticks, and again after half the time if they found something to take over") {
  const Eleven eleven;
  std::vector<Ps> second_took;
  std::vector<Ps> first_took;
  for (const auto& [when, count] : eleven.on_first) {
    CHECK((count == 5 || count == 6));
    CHECK(when % ms == 0);
    (count == 5 ? second_took : first_took).push_back(when);
  }
  REQUIRE(second_took.size() == 3);
  REQUIRE(first_took.size() == 4);  // with how it began
  CHECK(second_took[1] - second_took[0] == (9 + 19 + 9) * ms);
  CHECK(second_took[2] - second_took[1] == (9 + 19 + 9) * ms);
  CHECK(first_took[2] - first_took[1] == (9 + 19 + 9) * ms);
  CHECK(first_took[3] - first_took[2] == (9 + 19 + 9) * ms);
}

// Two take turns of 70 us on the first CPU; the second is idle from 0.5 ms on.
TEST_CASE("an idle CPU looks at each tick, and takes who has just run at the third that finds something") {
  Run run(eevdf(2));
  std::vector<Ps> came;
  const auto in_turns = [&] {
    Thread& self = *run.simulation.world().current();
    Yield yield(self);
    while (run.now() < 5 * ms) {
      self.spend(70 * us, Spent::program);
      self.record(yield, 0);
      self.flush();
      if (cpu_here(run) == 1 && self.came_at > 0 && came.empty()) came.push_back(self.came_at);
    }
  };
  run({in_turns, in_turns,
       [&] {
         take_to_first(run, 2, 2);
         work(run.simulation, 500 * us);
       }},
      {{}, {}, {1}});
  CHECK(came == std::vector<Ps>{3 * ms});
}

TEST_CASE(
    "a new thread goes to an idle CPU, unless the kernel packs CPUs and its maker has used little of its "
    "own") {
  Profile profile = eevdf(2);
  profile.client.scheduler.packs_cpus = GENERATE(false, true);
  const bool packs = profile.client.scheduler.packs_cpus;
  const bool little = GENERATE(false, true);
  Simulation simulation(profile);
  int makers = -1;
  std::vector<int> begun;
  simulation.run(
      [&] {
        SimRuntime runtime(simulation, simulation.host(1));
        makers = simulation.world().current()->core->cpu();
        if (little) {
          const auto stop = runtime.make_stop_flag();
          runtime.sleep_until(to_instant(100 * ms), *stop);
        } else {
          work(simulation, 100 * ms);
        }
        std::vector<std::unique_ptr<rkv::Thread>> threads;
        for (int i = 0; i < 2; ++i) {
          threads.push_back(runtime.spawn({.name = "made", .cores = {}}, [&] {
            begun.push_back(simulation.world().current()->core->cpu());
            work(simulation, 20 * ms);
          }));
        }
        for (auto& thread : threads) thread->join();
      },
      Simulation::Setter::on_host);
  REQUIRE(begun.size() == 2);
  CHECK(begun[0] == (packs && little ? makers : 1 - makers));
  // Beside the first there is no room. Without packing both CPUs have one thread and something to spare then;
  // or the second would wait behind the first, and its maker's CPU, idle while that waits, takes it over.
  CHECK(begun[1] == (packs && little ? 1 - makers : makers));
}

TEST_CASE("the CPU of a maker has no room for a new thread while another program has just used it") {
  Profile profile = eevdf(2);
  profile.client.scheduler.packs_cpus = true;
  const auto [waited, room] = GENERATE(std::pair(0 * ms, false), std::pair(100 * ms, true));
  Simulation simulation(profile);
  int makers = -1;
  int begun = -1;
  simulation.run(
      [&, waited = waited] {
        SimRuntime runtime(simulation, simulation.host(1));
        simulation.host(1).cpus().begin_used(0);
        const auto stop = runtime.make_stop_flag();
        runtime.sleep_until(to_instant(waited), *stop);
        makers = simulation.world().current()->core->cpu();
        runtime
            .spawn({.name = "made", .cores = {}}, [&] { begun = simulation.world().current()->core->cpu(); })
            ->join();
      },
      Simulation::Setter::on_host);
  CHECK(begun == (room ? makers : 1 - makers));
}

TEST_CASE("a woken thread looks for an idle CPU only where some are likely to be idle") {
  // 2 x (1 - (1.17 x 0.6)^2) = 1.01
  CHECK(looks_for_idle(2, 0));
  CHECK(looks_for_idle(2, 0.6));
  CHECK_FALSE(looks_for_idle(2, 0.61));
  CHECK(looks_for_idle(8, 0.79));
  CHECK_FALSE(looks_for_idle(8, 0.81));

  const bool used = GENERATE(false, true);  // until just before, the CPU that is idle now
  Run run(eevdf(2));
  int before = -1;
  Ps woken = 0;
  run({[&] {
         before = cpu_here(run);
         sleep_until(run, 400 * ms);
         woken = run.now();
       },
       [&] { work(run.simulation, 500 * ms); },
       [&] {
         if (used) work(run.simulation, 399 * ms);
       }},
      {{}, {0}, {1}});
  CHECK(before == 0);
  CHECK((woken == 400 * ms) == !used);  // or behind who runs there
}

TEST_CASE(
    "a kernel that packs CPUs keeps a woken thread with its waker if its own CPU has been idle for long") {
  Profile profile = eevdf(2);
  profile.server.scheduler.packs_cpus = GENERATE(false, true);
  const bool packs = profile.server.scheduler.packs_cpus;
  const bool long_idle = GENERATE(false, true);
  const bool room = GENERATE(false, true);
  const bool worked = GENERATE(false, true);  // so long ago that it counts no more
  Run run(profile);
  int before = -1;
  int after = -1;
  Alarm alarm;
  const Ps woken = 400 * ms;
  run({[&] {
         sleep_until(run, room ? woken - 1 * ms : woken - 100 * ms);
         work(run.simulation, woken - run.now());
         run.simulation.world().current()->record(alarm, 0);
         work(run.simulation, 50 * us);
       },
       [&] {
         if (worked) work(run.simulation, 150 * ms);
         before = cpu_here(run);
         sleep_until(alarm, run.simulation.world());
         after = cpu_here(run);
       },
       [&] {
         sleep_until(run, woken - 1 * ms);
         if (!long_idle) work(run.simulation, 900 * us);
       }},
      {{0}, {}, {1}});
  CHECK(before == 1);
  CHECK(after == (packs && long_idle && room ? 0 : 1));
}

TEST_CASE("where other programs' threads run for a moment, those that share a CPU change places more often") {
  Profile profile = eevdf(1);
  profile.server.scheduler.background_hz = GENERATE(0, 1000);
  const bool disturbed = profile.server.scheduler.background_hz > 0;
  Run run(profile);
  std::uint64_t switches = 0;
  const auto spinner = [&] {
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    work(run.simulation, 300 * ms);
    switches += runtime.usage().involuntary_switches;
  };
  run({spinner, spinner});
  // Slices of 3 ms, or 600 interruptions, some of which come on top of a slice's end.
  CHECK(switches >= (disturbed ? 500U : 198U));
  CHECK(switches <= (disturbed ? 900U : 202U));
}

}  // namespace
}  // namespace rkv::sim::test
