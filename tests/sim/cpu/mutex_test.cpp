// Locks under study: what they cost, who waits, and that a preempted holder keeps them.
#include <catch2/catch.hpp>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

struct Locks {
  explicit Locks(const Profile& profile) : simulation(profile), runtime(simulation, simulation.host(0)) {}

  void run(const std::vector<std::function<void(Mutex&)>>& bodies,
           const std::vector<std::vector<int>>& cpus = {}) {
    simulation.run([&] {
      const auto mutex = runtime.make_mutex();
      std::vector<std::function<void()>> with_mutex;
      for (const auto& body : bodies) with_mutex.emplace_back([&] { body(*mutex); });
      run_threads(runtime, with_mutex, cpus);
    });
  }
  [[nodiscard]] Ps now() { return simulation.world().now(); }

  Simulation simulation;
  SimRuntime runtime;
};

TEST_CASE("a free lock costs its taking and its release, and more when another CPU had it") {
  Profile profile = free_profile(2);
  profile.server.memory.lock = 20 * ns;
  profile.server.memory.lock_hand_over = 100 * ns;
  Locks locks(profile);
  Ps first = 0;
  Ps second = 0;
  locks.run({[&](Mutex& mutex) {
               mutex.lock();
               work(locks.simulation, 1 * us);
               mutex.unlock();
               locks.simulation.world().current()->flush();
               first = locks.now();
             },
             [&](Mutex& mutex) {
               work(locks.simulation, 5 * us);
               mutex.lock();
               second = locks.now();
               mutex.unlock();
             }});
  CHECK(first == 20 * ns + 1 * us + 20 * ns);
  CHECK(second == 5 * us + 120 * ns);
}

// One thread holds the lock, another asks for it 1 us after the start.
struct Contest {
  explicit Contest(Ps held) : locks(profile()) {
    locks.run({[&](Mutex& mutex) {
                 mutex.lock();
                 work(locks.simulation, held);
                 mutex.unlock();
                 locks.simulation.world().current()->flush();
                 holder_ended = locks.now();
               },
               [&](Mutex& mutex) {
                 work(locks.simulation, 1 * us);
                 mutex.lock();
                 taken = locks.now();
                 mutex.unlock();
                 usage = locks.runtime.usage();
               }});
  }
  static Profile profile() {
    Profile profile = free_profile(3);
    profile.server.memory.lock = 20 * ns;
    profile.server.scheduler.syscall = 100 * ns;
    profile.server.scheduler.wake_cost = 200 * ns;
    return profile;
  }

  Locks locks;
  Ps holder_ended = 0;
  Ps taken = 0;
  ThreadUsage usage;  // of the one who asked
};

TEST_CASE("who finds it released on the way to sleep takes it") {
  const Contest contest(1080 * ns);  // asked for at 1000 ns, released at 1100 ns, looked at again at 1120 ns
  constexpr Ps released = 20 * ns + 1080 * ns;
  CHECK(contest.holder_ended == released + 20 * ns + 100 * ns);  // a system call that finds nobody asleep
  CHECK(contest.taken == 1 * us + 20 * ns + 100 * ns + 20 * ns);
  CHECK(contest.usage.voluntary_switches == 0);
  // It took the lock on the way to sleep: so for all it knows others sleep, whom its release has to wake.
  CHECK(contest.usage.cpu_time == to_duration(contest.taken + 20 * ns + 100 * ns));
}

TEST_CASE("who finds it still held sleeps, and is woken by the release") {
  const Contest contest(10 * us);
  constexpr Ps released = 20 * ns + 10 * us;
  CHECK(contest.holder_ended == released + 20 * ns + 100 * ns + 200 * ns);
  CHECK(contest.taken == released + 20 * ns);
  CHECK(contest.usage.voluntary_switches == 1);
  CHECK(contest.usage.cpu_time == to_duration(1 * us + 20 * ns + 100 * ns + 20 * ns + 20 * ns + 100 * ns));
}

TEST_CASE("who finds it taken by another that did not wait comes back, and does not sleep") {
  Locks locks(Contest::profile());
  Ps taken = 0;
  ThreadUsage usage;
  // The first holds it from 0 to 1100 ns, the third from 1101 to 1201 ns; the second looks at 1000 ns, in the
  // kernel at 1120 ns, and, come back, marks it at 1120 ns; in the kernel again at 1240 ns it is free.
  locks.run({[&](Mutex& mutex) {
               mutex.lock();
               work(locks.simulation, 1080 * ns);
               mutex.unlock();
             },
             [&](Mutex& mutex) {
               work(locks.simulation, 1 * us);
               mutex.lock();
               taken = locks.now();
               usage = locks.runtime.usage();
               mutex.unlock();
             },
             [&](Mutex& mutex) {
               work(locks.simulation, 1101 * ns);
               mutex.lock();
               work(locks.simulation, 80 * ns);
               mutex.unlock();
             }},
            {{0}, {1}, {2}});
  CHECK(taken == 1240 * ns + 20 * ns);
  CHECK(usage.voluntary_switches == 0);
}

TEST_CASE("a holder that is preempted keeps the lock") {
  Locks locks(free_profile(2));
  Ps taken = 0;
  // On CPU 0 the holder and a spinner take turns of 3 ms; the holder has 4 ms to do under the lock.
  locks.run({[&](Mutex& mutex) {
               mutex.lock();
               work(locks.simulation, 4 * ms);
               mutex.unlock();
             },
             [&](Mutex&) { work(locks.simulation, 20 * ms); },
             [&](Mutex& mutex) {
               work(locks.simulation, 1 * ms);
               mutex.lock();
               taken = locks.now();
               mutex.unlock();
             }},
            {{0}, {0}, {1}});
  CHECK(taken == 7 * ms);
}

TEST_CASE("passing a lock holds it for the serial section, one after the other") {
  Profile profile = free_profile(4);
  profile.server.program.client_serial = 50 * ns;
  profile.server.memory.lock = 10 * ns;
  Locks locks(profile);
  constexpr int threads = 4;
  constexpr int passes = 100;
  std::vector<Ps> ends(threads);
  std::vector<std::function<void(Mutex&)>> bodies;
  for (std::size_t i = 0; i < threads; ++i) {
    bodies.emplace_back([&, i](Mutex& mutex) {
      for (int pass = 0; pass < passes; ++pass) {
        mutex.pass();
        work(locks.simulation, 1 * us);
      }
      ends[i] = locks.now();
    });
  }
  SECTION("one alone") {
    locks.run({bodies.front()});
    CHECK(ends[0] == passes * (10 * ns + 50 * ns + 10 * ns + 1 * us));
  }
  SECTION("several never overlap") {
    locks.run(bodies);
    for (const Ps end : ends) CHECK(end >= threads * passes * 50 * ns);
  }
}

TEST_CASE("a try-lock that is released later in a burst is held until then") {
  Locks locks(free_profile(2));
  TryLock lock;
  bool early = true;
  bool late = false;
  locks.run({[&](Mutex&) {
               REQUIRE(locks.runtime.try_lock(lock));
               locks.simulation.world().current()->spend(10 * us, Spent::program);
               locks.runtime.unlock(lock);
               locks.simulation.world().current()->spend(10 * us, Spent::program);
               locks.simulation.world().current()->flush();
             },
             [&](Mutex&) {
               work(locks.simulation, 9 * us);
               early = locks.runtime.try_lock_shared(lock);
               work(locks.simulation, 2 * us);
               late = locks.runtime.try_lock_shared(lock);
             }});
  CHECK_FALSE(early);
  CHECK(late);
}

}  // namespace
}  // namespace rkv::sim::test
