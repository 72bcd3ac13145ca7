// Threads that go on where others were before, and moves in a hurry.
#include "backends/sim/run/placement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "backends/sim/run/hurried_moves.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

// The clients' host, on which the thread that sets a point up is apart.
struct Setting {
  explicit Setting(const Profile& profile)
      : simulation(profile), runtime(simulation, simulation.host(simulation.host_count() - 1)) {}

  void spawn(std::function<void()> body, std::vector<int> cpus = {}) {
    spec.cores = std::move(cpus);
    threads.push_back(runtime.spawn(spec, std::move(body)));
  }
  void sleep_until(Instant when) {
    const std::unique_ptr<StopFlag> never = runtime.make_stop_flag();
    runtime.sleep_until(when, *never);
  }
  void join() {
    for (auto& thread : threads) thread->join();
  }

  Simulation simulation;
  SimRuntime runtime;
  ThreadSpec spec;
  std::vector<std::unique_ptr<rkv::Thread>> threads;
};

std::vector<std::size_t> cpus_of(const Placement& placement) {
  std::vector<std::size_t> cpus;
  for (const Placement::OfThread& thread : placement.threads) cpus.push_back(thread.cpu);
  return cpus;
}

TEST_CASE("threads that run, wait for their turn and sleep are where they were put, and as they were") {
  const std::uint32_t seed = GENERATE(range(1U, 21U));
  CAPTURE(seed);
  constexpr std::size_t cpus = 4;
  std::mt19937 random(seed);
  Placement asked;
  for (std::size_t thread = 0; thread < 9; ++thread) {
    asked.threads.push_back({.cpu = random() % cpus, .for_so_long = static_cast<Ps>(random() % 100) * ms});
  }
  asked.interrupted_parts = {{0, 0, 0, 0}, {0.5, 0.25, 0, 0}};
  asked.walked = {3};
  Setting setting(free_profile(cpus));
  Placement found;
  setting.simulation.run([&] {
    for (int thread = 0; thread < 6; ++thread) {  // two are left over
      setting.spawn([&] { work(setting.simulation, 20 * ms); });
    }
    for (int thread = 0; thread < 3; ++thread) {
      setting.spawn([&] { setting.sleep_until(Instant(20ms)); });
    }
    setting.sleep_until(Instant(1ms));
    put_into(setting.simulation, asked);
    found = placement_of(setting.simulation, {});
    setting.join();
  });
  REQUIRE(cpus_of(found) == cpus_of(asked));
  for (std::size_t thread = 0; thread < asked.threads.size(); ++thread) {
    CHECK(found.threads[thread].for_so_long == asked.threads[thread].for_so_long);
  }
  CHECK(found.interrupted_parts == asked.interrupted_parts);
  CHECK(found.walked == asked.walked);
}

TEST_CASE("threads that were put somewhere do all their work there, and no CPU idles for it") {
  Setting setting(free_profile(2));
  Instant end{};
  setting.simulation.run([&] {
    for (int thread = 0; thread < 2; ++thread) {
      setting.spawn([&] { work(setting.simulation, 4 * ms); });
    }
    setting.sleep_until(Instant(1ms));
    // Each to the other's CPU, where the other still is: they have done 1 ms, and cost nothing to move.
    put_into(setting.simulation,
             {.threads = {{.cpu = 1}, {.cpu = 0}}, .interrupted_parts = {{0, 0}, {0, 0}}, .walked = {0}});
    setting.join();
    end = setting.runtime.now();
  });
  CHECK(end == Instant(4ms));
}

TEST_CASE("a thread that has ended is where it was before") {
  Setting setting(free_profile(2));
  Placement found;
  setting.simulation.run([&] {
    setting.spawn([] {});
    setting.spawn([&] { work(setting.simulation, 2 * ms); });
    setting.sleep_until(Instant(1ms));
    found = placement_of(setting.simulation,
                         {.threads = {{.cpu = 1, .for_so_long = 7}}, .interrupted_parts = {}, .walked = {}});
    setting.join();
  });
  REQUIRE(found.threads.size() == 2);
  CHECK(found.threads[0].cpu == 1);
  CHECK(found.threads[0].for_so_long == 7);
  CHECK(found.threads[1].for_so_long == 1 * ms);
}

TEST_CASE("an empty placement changes nothing") {
  Setting setting(free_profile(2));
  Placement before;
  Placement after;
  setting.simulation.run([&] {
    setting.spawn([&] { work(setting.simulation, 2 * ms); });
    setting.sleep_until(Instant(1ms));
    before = placement_of(setting.simulation, {});
    put_into(setting.simulation, {});
    after = placement_of(setting.simulation, {});
    setting.join();
  });
  CHECK(cpus_of(after) == cpus_of(before));
  CHECK(after.threads[0].for_so_long == before.threads[0].for_so_long);
}

// Of two sockets of a CPU each. The thread begins on CPU 0 while all entries lie in the other socket, to
// which it would be taken after 10 ms.
TEST_CASE("in a hurry threads move as often in a millisecond as otherwise in ten") {
  Profile profile = free_profile(1);
  profile.network.one_host = true;
  profile.server.cpu.sockets = 2;
  profile.server.memory.walk = {{1'024, 0}};
  profile.server.memory.bytes_an_entry = 0;
  profile.server.scheduler.numa_balancing = 10 * ms;
  Setting setting(profile);
  std::vector<Placement> found;
  setting.simulation.run([&] {
    setting.spawn([&] {
      setting.runtime.charge({.entries_walked = 1, .working_set_bytes = 1'024});
      for (int i = 0; i < 8; ++i) work(setting.simulation, 1 * ms);
      setting.runtime.charge({.entries_walked = 1, .working_set_bytes = 1'024});
      work(setting.simulation, 1 * ms);
    });
    const auto look_at = [&](Instant when) {
      setting.sleep_until(when);
      found.push_back(placement_of(setting.simulation, {}));
    };
    setting.sleep_until(Instant(500us));
    put_into(setting.simulation,
             {.threads = {{.cpu = 0}}, .interrupted_parts = {{0, 0}}, .walked = {0, 1e9}});
    setting.sleep_until(Instant(2ms));
    {
      // The next scan is now; the only thread that is due has its turn a tenth of a period later, and runs
      // on at the end of its millisecond.
      const HurriedMoves hurried(setting.simulation, 10);
      look_at(Instant(2900us));
      look_at(Instant(6ms));
    }
    look_at(Instant(6ms));
    look_at(Instant(8500us));
    setting.join();
  });
  REQUIRE(found.size() == 4);
  CHECK(found[0].threads[0].cpu == 0);
  CHECK(found[0].threads[0].for_so_long == 2400 * us);
  CHECK(found[1].threads[0].cpu == 1);
  CHECK(found[1].threads[0].for_so_long == 3 * ms);
  CHECK(found[2].threads[0].for_so_long == 30 * ms);  // as if the hurry had lasted ten times as long
  CHECK(found[3].threads[0].for_so_long == 32500 * us);
  CHECK(found[3].walked == std::vector<double>{0, 1e9 + 1});  // again as many as there are
}

TEST_CASE("what is walked in a hurry counts for so much of a run") {
  Profile profile = free_profile(1);
  profile.network.one_host = true;
  profile.server.memory.walk = {{1'024, 0}};
  Setting setting(profile);
  std::vector<double> walked;
  setting.simulation.run([&] {
    const auto walk = [&] {
      setting.spawn([&] { setting.runtime.charge({.entries_walked = 3, .working_set_bytes = 1'024}); });
      setting.join();
      setting.threads.clear();
      walked.push_back(setting.simulation.host(0).memory().walked()[0]);
    };
    walk();
    {
      const HurriedMoves hurried(setting.simulation, 100);
      walk();
    }
    walk();
  });
  CHECK(walked == std::vector<double>{3, 303, 306});
}

}  // namespace
}  // namespace rkv::sim::test
