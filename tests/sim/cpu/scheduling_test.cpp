// Time slices, preemption, wake-ups, SMT and pinning, with exact times worked out by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

TEST_CASE("a thread alone runs as long as its work, after the wake-up and the switch") {
  Profile profile = free_profile(1);
  profile.server.scheduler.wakeup_latency = 700 * ns;
  profile.server.scheduler.switch_cost = 1300 * ns;
  Run run(profile);
  Ps begun = 0;
  Ps ended = 0;
  run({[&] {
    begun = run.now();
    work(run.simulation, 5 * us);
    ended = run.now();
  }});
  CHECK(begun == 2 * us);
  CHECK(ended == 7 * us);
}

TEST_CASE("what a thread does more on an idle CPU and behind another one: the larger of what is due") {
  const auto [after_idle, behind_another] =
      GENERATE(table<Ps, Ps>({{5 * us, 2 * us}, {2 * us, 5 * us}, {5 * us, 0}}));
  const bool another = GENERATE(false, true);  // has run there meanwhile
  Run run(free_profile(2));
  Ps came = 0;
  run({[&, more = std::pair(after_idle, behind_another)] {
         Thread& self = *run.simulation.world().current();
         self.more_after_idle = more.first;
         self.more_behind_another = more.second;
         sleep_until(run, 1 * ms);
         came = run.now();
       },
       [&] {
         if (another) work(run.simulation, 100 * us);
       }},
      {{0}, {another ? 0 : 1}});
  CHECK(came == 1 * ms + (another ? std::max(after_idle, behind_another) : after_idle));
}

TEST_CASE("a thread begins behind what its maker did before") {
  Run run(free_profile(2));
  Ps begun = 0;
  run({[&] {
    run.simulation.world().current()->spend(5 * us, Spent::program);
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    const auto thread = runtime.spawn({.name = "made", .cores = {}}, [&] { begun = run.now(); });
    thread->join();
  }});
  CHECK(begun == 5 * us);
}

TEST_CASE("who makes threads where others run waits until each has begun, and then for a CPU") {
  const bool on_host = GENERATE(false, true);
  Simulation simulation(free_profile(1));
  std::vector<Ps> made;
  simulation.run(
      [&] {
        SimRuntime runtime(simulation, simulation.host(1));
        std::vector<std::unique_ptr<rkv::Thread>> threads;
        for (int i = 0; i < 3; ++i) {
          threads.push_back(runtime.spawn({.name = "made", .cores = {}}, [&] { work(simulation, 20 * ms); }));
          made.push_back(simulation.world().now());
        }
        for (auto& thread : threads) thread->join();
      },
      on_host ? Simulation::Setter::on_host : Simulation::Setter::apart);
  // On one CPU each begins at once and has it for a slice of 3 ms.
  CHECK(made == (on_host ? std::vector<Ps>{3 * ms, 6 * ms, 9 * ms} : std::vector<Ps>{0, 0, 0}));
}

TEST_CASE("EEVDF: who makes a thread has its CPU back as soon as that has begun") {
  Profile profile = free_profile(1);
  SchedulerProfile& scheduler = profile.server.scheduler;
  scheduler.kind = SchedulerProfile::Kind::eevdf;
  scheduler.make_thread = 20 * us;
  scheduler.begin_thread = 6 * us;
  // What the call to sleep takes puts the maker ahead of the new thread, but behind it when that has begun.
  scheduler.syscall = GENERATE(100 * ns, 7 * us);
  profile.client = profile.server;
  Simulation simulation(profile);
  Ps made = 0;
  simulation.run(
      [&] {
        SimRuntime runtime(simulation, simulation.host(1));
        const auto thread = runtime.spawn({.name = "made", .cores = {}}, [&] { work(simulation, 20 * ms); });
        made = simulation.world().now();
        thread->join();
      },
      Simulation::Setter::on_host);
  // One that is still ahead waits for the other's first half slice to end, and the next tick.
  CHECK(made == (scheduler.syscall < 6 * us ? 20 * us + scheduler.syscall + 6 * us : 2 * ms));
}

TEST_CASE("who sets a point up on its host is there when its timer has ended, others a wake-up later") {
  const bool on_host = GENERATE(false, true);
  Profile profile = free_profile(1);
  profile.client.scheduler.wakeup_latency = 700 * ns;
  Simulation simulation(profile);
  Ps woken = 0;
  simulation.run(
      [&] {
        SimRuntime runtime(simulation, simulation.host(1));
        const auto stop = runtime.make_stop_flag();
        runtime.sleep_until(to_instant(1 * ms), *stop);
        woken = simulation.world().now();
      },
      on_host ? Simulation::Setter::on_host : Simulation::Setter::apart);
  CHECK(woken == (on_host ? 1 * ms : 1 * ms + 700 * ns));
}

TEST_CASE("a stamp is the time of its place in the burst, wherever the burst was cut") {
  Profile profile = free_profile(1);
  Run run(profile);
  Instant first;
  Instant second;
  // The other thread, equally long, takes the CPU from 3 ms to 6 ms and from 9 ms on.
  run({[&] {
         Thread& self = *run.simulation.world().current();
         self.spend(2 * ms, Spent::program);
         self.stamp(first);
         self.spend(2 * ms, Spent::program);
         self.stamp(second);
         self.spend(2 * ms, Spent::program);
         self.flush();
       },
       [&] { work(run.simulation, 6 * ms); }});
  CHECK(first == to_instant(2 * ms));
  CHECK(second == to_instant(7 * ms));
}

TEST_CASE("CFS: two that spin on one CPU take turns of a slice, ended by a tick") {
  Profile profile = free_profile(1);
  // latency / 2 = 3 ms. With ticks of 2 ms a slice ends at the next even millisecond.
  profile.server.scheduler.tick = GENERATE(1 * ms, 2 * ms);
  profile.server.scheduler.switch_cost = 10 * us;
  const bool fine = profile.server.scheduler.tick == 1 * ms;
  Run run(profile);
  std::vector<std::pair<int, Ps>> turns;  // who, when it came on
  const auto spinner = [&](int who) {
    return [&, who] {
      Ps last = -1;
      // Each piece of work is a microsecond; a gap shows that the other one ran.
      for (int i = 0; i < 9'000; ++i) {
        const Ps before = run.now();
        if (last < 0 || before - last > 1 * us) turns.emplace_back(who, before);
        work(run.simulation, 1 * us);
        last = before;
      }
    };
  };
  run({spinner(0), spinner(1)});
  REQUIRE(turns.size() >= 4);
  // The first switch is at 0 (10 us), so thread 0 has run 3 ms at 3.01 ms: it goes at the next tick.
  CHECK(turns[0] == std::pair(0, 10 * us));
  const Ps slice = 4 * ms;
  CHECK(turns[1].first == 1);
  CHECK(turns[1].second == slice + 10 * us);
  CHECK(turns[2].first == 0);
  // At 8 ms the second has run 3.99 ms.
  CHECK(turns[2].second - turns[1].second >= 3 * ms);
  CHECK(turns[2].second - turns[1].second <= (fine ? 4 * ms : 4 * ms) + 1 * us);
}

TEST_CASE("EEVDF: two that spin take turns of a base slice") {
  Profile profile = free_profile(1);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 3 * ms;
  Run run(profile);
  std::vector<Ps> ends(2);
  const auto worker = [&](std::size_t who) {
    return [&, who] {
      work(run.simulation, 6 * ms);
      ends[who] = run.now();
    };
  };
  run({worker(0), worker(1)});
  // New threads begin with half a slice, which the next tick ends.
  // 0: [0, 2), [4, 7) and [10, 11); 1: [2, 4), [7, 10) and [11, 12).
  CHECK(ends == std::vector<Ps>{11 * ms, 12 * ms});
}

TEST_CASE("EEVDF: who is woken with something owed takes the CPU from who is ahead, and from nobody else") {
  Profile profile = free_profile(1);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 3 * ms;
  Run run(profile);
  std::vector<Ps> times;
  run({[&] { work(run.simulation, 10 * ms); },
       [&] {
         // From 3 ms on, when the average is 1.5 ms, which it is owed, and twice as much when it comes back:
         // to 2 ms, where the other one has 5 ms.
         sleep_until(run, 5 * ms);
         times.push_back(run.now());
         // A slice, then the other one to the end of its own at 6 ms, then the rest: both have 6 ms.
         work(run.simulation, 4 * ms);
         times.push_back(run.now());
         // With nothing owed it waits until the other one has had its slice.
         sleep_until(run, 10'500 * us);
         times.push_back(run.now());
       }});
  CHECK(times == std::vector<Ps>{5 * ms, 10 * ms, 13 * ms});
}

TEST_CASE("EEVDF: who was ahead when it went to sleep is in the queue until it would be picked") {
  Profile profile = free_profile(1);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 6 * ms;
  Run run(profile);
  Ps woken = 0;
  const auto [wake_at, goes_on_at] =
      GENERATE(std::pair(1'500 * us, 4 * ms), std::pair(3 * ms, 4 * ms), std::pair(3'400 * us, 3'400 * us),
               std::pair(4'500 * us, 10 * ms));
  run({[&, wake = wake_at] {
         work(run.simulation, 1 * ms);  // the average is half of it
         sleep_until(run, wake);
         woken = run.now();
       },
       [&] { work(run.simulation, 10 * ms); }});
  // At 1.5 ms the other one has had half a millisecond, and goes on for its first half slice of 3 ms. At 3 ms
  // it has had two, of which half a one is owed to who is woken, and forgotten. At 3.4 ms the same is
  // forgotten, since it is as the tick at 3 ms left it, but 0.4 ms are known by when the other one is asked
  // to go. At 4 ms the sleeper is the one to be picked, and leaves the queue if it is still asleep: the other
  // one has a slice of 6 ms then.
  CHECK(woken == goes_on_at);
}

TEST_CASE("EEVDF: who sleeps but is in the queue still counts in the load of its CPU") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 40 * ms;
  profile.server.scheduler.wake_affine = true;
  Run run(profile);
  std::vector<double> loads;
  std::vector<double> runnable;
  run({[&] {
         work(run.simulation, 1 * ms);
         sleep_until(run, 100 * ms);
       },
       [&] { work(run.simulation, 90 * ms); },
       [&] {
         // A new thread counts as one, and both are in the queue until the other's half slice ends at 21 ms;
         // 32 ms later half of that is forgotten.
         for (const Ps time : {20 * ms, 53 * ms}) {
           sleep_until(run, time);
           Core& core = run.simulation.host(0).cpus().core(0);
           core.account_load();
           loads.push_back(core.load().load());
           runnable.push_back(core.load().runnable());
         }
       }},
      {{0}, {0}, {1}});
  REQUIRE(loads.size() == 2);
  CHECK(loads[0] == Approx(2));
  CHECK(loads[1] == Approx(1.5));
  CHECK(runnable[0] < 1.1);  // one, and what is left of the other's millisecond
}

TEST_CASE("EEVDF: who sleeps but is in the queue leaves it when it is put on another CPU") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 40 * ms;
  const bool is_put = GENERATE(false, true);
  Run run(profile);
  Thread* sleeper = nullptr;
  Ps woken = 0;
  run({[&] {
         sleeper = run.simulation.world().current();
         work(run.simulation, 1 * ms);
         sleep_until(run, 5 * ms);
         woken = run.now();
       },
       [&] { work(run.simulation, 90 * ms); },
       [&] {
         sleep_until(run, 3 * ms);
         Processors& cpus = run.simulation.host(0).cpus();
         const std::vector<Processors::Seat> seats{{.thread = sleeper, .cpu = 1, .for_so_long = 0}};
         if (is_put) cpus.arrange(seats);
       }},
      {{}, {0}, {1}});
  CHECK(woken == (is_put ? 5 * ms : 21 * ms));  // when the other one's half slice is over
}

TEST_CASE("EEVDF: who was ahead when it went to sleep is woken where it was, whatever else is idle") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = GENERATE(SchedulerProfile::Kind::cfs, SchedulerProfile::Kind::eevdf);
  profile.server.scheduler.slice = 6 * ms;
  const bool eevdf = profile.server.scheduler.kind == SchedulerProfile::Kind::eevdf;
  Run run(profile);
  Ps woken = 0;
  run({[&] {
         work(run.simulation, 1 * ms);
         sleep_until(run, 1'500 * us);
         woken = run.now();
       },
       [&] { work(run.simulation, 10 * ms); }},
      {{}, {0}});
  // The idle CPU takes it when the other one's first half slice is over.
  CHECK(woken == (eevdf ? 4 * ms : 1'500 * us));
}

TEST_CASE("who comes on is charged for the switch") {
  Profile profile = free_profile(1);
  profile.server.scheduler.switch_cost = 10 * us;
  Run run(profile);
  ThreadUsage usage;
  run({[&] {
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    work(run.simulation, 1 * ms);
    usage = runtime.usage();
  }});
  CHECK(usage.cpu_time == to_duration(1 * ms + 10 * us));
}

TEST_CASE("switches are counted: involuntary when preempted, voluntary when asleep") {
  Run run(free_profile(1));
  ThreadUsage first;
  ThreadUsage second;
  run({[&] {
         SimRuntime runtime(run.simulation, run.simulation.host(0));
         work(run.simulation, 5 * ms);  // cut once, at 3 ms; over at 8 ms
         sleep_until(run, run.now() + 1 * us);
         first = runtime.usage();
       },
       [&] {
         SimRuntime runtime(run.simulation, run.simulation.host(0));
         work(run.simulation, 5 * ms);  // from 3 ms to 6 ms, from 8 ms on
         second = runtime.usage();
       }});
  CHECK(first.involuntary_switches == 1);
  CHECK(first.voluntary_switches == 1);
  CHECK(first.cpu_time == to_duration(5 * ms));
  CHECK(second.involuntary_switches == 1);
  CHECK(second.voluntary_switches == 0);
}

TEST_CASE("threads go to idle CPUs, and a pinned one waits for its own") {
  Run run(free_profile(2));
  std::vector<Ps> ends(3);
  const auto worker = [&](std::size_t who) {
    return [&, who] {
      work(run.simulation, 2 * ms);
      ends[who] = run.now();
    };
  };
  SECTION("free") {
    run({worker(0), worker(1)});
    CHECK(ends[0] == 2 * ms);
    CHECK(ends[1] == 2 * ms);
  }
  SECTION("two pinned to CPU 1") {
    run({worker(0), worker(1), worker(2)}, {{1}, {1}, {}});
    CHECK(ends[0] == 2 * ms);
    CHECK(ends[1] == 4 * ms);
    CHECK(ends[2] == 2 * ms);
  }
  SECTION("an idle CPU pulls a waiting thread, which pays for its cold caches") {
    Profile profile = free_profile(2);
    profile.server.scheduler.migration_cost = 5 * us;
    Run other(profile);
    std::vector<Ps> done(3);
    const auto body = [&](std::size_t who, Ps time) {
      return [&, who, time] {
        work(other.simulation, time);
        done[who] = other.now();
      };
    };
    // Thread 2 shares CPU 0 from the start; CPU 1 is free at 4 ms, when thread 2 has run from 3 ms to 4 ms.
    other({body(0, 10 * ms), body(1, 4 * ms), body(2, 5 * ms)});
    CHECK(done[1] == 4 * ms);
    // Which of the two was waiting at 4 ms went to CPU 1: thread 0, after 3 ms of its work.
    CHECK(done[0] == 4 * ms + 5 * us + 7 * ms);
    CHECK(done[2] == 3 * ms + 5 * ms);
  }
}

TEST_CASE("a thread on a simulated CPU that does not exist is refused") {
  Run run(free_profile(2));
  CHECK_THROWS_WITH(run({[] {}}, {{2}}), Catch::Contains("CPU 2") && Catch::Contains("server"));
}

TEST_CASE("stray exchanges take waiting threads to other CPUs, however even their numbers are") {
  Profile profile = free_profile(2);
  profile.server.scheduler.balance_interval = 10 * ms;
  profile.server.scheduler.stray_exchanges = GENERATE(0.0, 1.0);
  Run run(profile);
  std::vector<std::set<int>> seen(4);
  std::vector<std::function<void()>> bodies;
  for (std::size_t who = 0; who < seen.size(); ++who) {
    bodies.emplace_back([&, who] {
      for (int piece = 0; piece < 200; ++piece) {
        work(run.simulation, 1 * ms);
        seen[who].insert(run.simulation.world().current()->core->cpu());
      }
    });
  }
  run(bodies);
  const std::size_t cpus = profile.server.scheduler.stray_exchanges == 0 ? 1 : 2;
  for (const auto& of_one : seen) CHECK(of_one.size() == cpus);
}

TEST_CASE("an interrupt on an idle CPU draws the thread that it wakes there, from any socket") {
  Profile profile = free_profile(2);
  profile.server.cpu.sockets = 2;  // CPUs 0 and 1, 2 and 3
  profile.server.scheduler.interrupt_cpu = 0;
  profile.server.scheduler.wake_to_interrupt = GENERATE(false, true);
  const bool draws = profile.server.scheduler.wake_to_interrupt;
  const bool idle = GENERATE(false, true);  // CPU 0
  const bool near = GENERATE(false, true);
  Run run(profile);
  Alarm alarm;
  int before = -1;
  int after = -1;
  const auto interrupted = [&] {
    Thread& self = *run.simulation.world().current();
    before = self.core->cpu();
    Processors& cpus = run.simulation.host(0).cpus();
    work(run.simulation, 10 * us);
    cpus.interrupt(*self.core, 1 * us, 0, alarm, 0);
    sleep_until(alarm, run.simulation.world());
    after = self.core->cpu();
  };
  const auto other = [&] { work(run.simulation, 1 * us); };
  // The least loaded socket for the second is the other one, for the third the first.
  run({[&] { work(run.simulation, idle ? 1 * us : 1 * ms); }, [&] { near ? other() : interrupted(); },
       [&] { near ? interrupted() : other(); }});
  const int own = near ? 1 : 2;
  CHECK(before == own);
  CHECK(after == (draws && idle ? 0 : own));
}

// Interrupts on CPU 0, which draws threads, wake one thread or another. A socket has one CPU.
struct Drawing {
  Drawing() : run(profile()), world(run.simulation.world()), cpus(run.simulation.host(0).cpus()) {}

  static Profile profile() {
    Profile profile = free_profile(1);
    profile.server.cpu.sockets = 3;
    profile.server.scheduler.interrupt_cpu = 0;
    profile.server.scheduler.wake_to_interrupt = true;
    return profile;
  }
  void interrupt(Alarm& alarm) {
    cpus.interrupt(cpus.core(0), 1 * us, 0, alarm, 0);
    work(run.simulation, 10 * us);
  }
  void sleep(Alarm& alarm) {
    while (!done) sleep_until(alarm, world);
  }
  // A thread is on CPU 0 for 100 us, while interrupts wake two others or one twice, and then sleeps; `drawn`
  // is what it does when `own` has woken it. `interrupts`: what another one does on a CPU of its own, 200 us
  // later.
  void operator()(const std::function<void()>& drawn, bool two_others,
                  const std::function<void()>& interrupts) {
    run({[&] {
           work(run.simulation, 100 * us);
           sleep_until(own, world);
           drawn();
         },
         [&] { sleep(one); }, [&] { sleep(other); },
         [&] {
           work(run.simulation, 10 * us);
           interrupt(one);
           interrupt(two_others ? other : one);
           work(run.simulation, 200 * us);
           interrupts();
           done = true;
           interrupt(one);
           interrupt(other);
         }},
        {{}, {1}, {1}, {2}});
  }

  Run run;
  World& world;
  Processors& cpus;
  Alarm own;
  Alarm one;
  Alarm other;
  bool done = false;
};

TEST_CASE("an interrupt draws no thread that its idle CPU is wide to") {
  const bool others = GENERATE(false, true);  // two flips of the thread, or one: the same one again
  const int before = GENERATE(1, 2);          // wake-ups of the idle CPU, with the thread's own a flip more
  Drawing drawing;
  int after = -1;
  drawing([&] { after = drawing.world.current()->core->cpu(); }, others,
          [&] {
            drawing.interrupt(drawing.one);
            if (before == 2) drawing.interrupt(drawing.other);
            const Processors::Seat seat{.thread = drawing.own.sleeper, .cpu = 1, .for_so_long = 0};
            drawing.cpus.arrange({&seat, 1});
            drawing.interrupt(drawing.own);
          });
  // A CPU a socket: two flips of the thread are more, and three of the CPU more than once as many.
  CHECK(after == (others && before == 2 ? 1 : 0));
}

TEST_CASE("by a fast clock a thread's wake-ups count for many once it has been drawn with many") {
  const bool many = GENERATE(false, true);  // a CPU a socket: two flips of the thread are, one is not
  Drawing drawing;
  World& world = drawing.world;
  std::uint32_t flips = 0;
  drawing(
      [&] {
        work(drawing.run.simulation, 100 * us);  // while the next two interrupts come
        flips = world.current()->wakees.flips;
      },
      many,
      [&] {
        drawing.interrupt(drawing.own);  // the CPU's first flip
        drawing.cpus.wakees_clock().set(world.now(), world.now(), 10);
        drawing.interrupt(drawing.one);
        drawing.interrupt(drawing.other);
        work(drawing.run.simulation, 200 * us);
      });
  CHECK(flips == (many ? 2 + 2 * 10 : 1 + 1));
}

TEST_CASE("a running thread leaves a CPU that interrupts take too much of, once it has been there for long") {
  struct Storm final : EventHandler {
    Storm(World& w, Processors& c) : world(w), cpus(c) {}
    void on_event(std::uint64_t number) override {
      cpus.interrupt(cpus.core(0), 500 * us, 0, nobody, 0);
      if (number < 300) world.at(world.now() + 1 * ms, *this, number + 1);
    }
    struct Nobody final : EventHandler {
      void on_event(std::uint64_t) override {}
    };
    World& world;
    Processors& cpus;
    Nobody nobody;
  };
  Profile profile = free_profile(2);
  profile.server.scheduler.interrupt_cpu = 0;
  const Ps patience = GENERATE(Ps{0}, 50 * ms, 200 * ms);
  profile.server.scheduler.active_balance = patience;
  Run run(profile);
  World& world = run.simulation.world();
  Storm storm(world, run.simulation.host(0).cpus());
  Ps left = 0;
  run({[&] {
    world.at(1 * ms, storm, 1);
    while (world.now() < 250 * ms && left == 0) {
      work(run.simulation, 100 * us);
      if (world.current()->core->cpu() != 0) left = world.now();
    }
  }});
  // Each millisecond adds half of one over 500 to the average, which loses one part in 500 (e-folds) before:
  // 0.001 x (1 - q^n) / (1 - q) with q = exp(-1 / 500) is above 3/32 from n = 104 on.
  const Ps due = patience == 0 ? 0 : std::max<Ps>(patience, 104 * ms);
  CHECK(left >= due);
  CHECK(left <= due + (patience == 0 ? 0 : 100 * us));
}

TEST_CASE(
    "a woken thread finds single idle CPUs, or only whole cores and its sibling, by the kernel's rule") {
  Profile profile = free_profile(2);
  profile.server.cpu.smt_ways = 2;  // cores are CPUs 0 and 2, 1 and 3
  profile.server.cpu.smt_throughput = 1;
  profile.server.scheduler.idle_cores_only = GENERATE(false, true);
  const bool sibling_busy = GENERATE(false, true);
  Run run(profile);
  Alarm alarm;
  int before = -1;
  int after = -1;
  const auto busy = [&] { work(run.simulation, 20 * us); };
  run({[&] {
         World& world = run.simulation.world();
         before = world.current()->core->cpu();
         world.at(world.now() + 10 * us, alarm, 0);
         sleep_until(alarm, world);
         after = world.current()->core->cpu();
       },
       busy, busy,
       [&] {
         if (sibling_busy) busy();
       }},
      {{}, {0}, {1}, {2}});
  CHECK(before == 0);
  const int otherwise = profile.server.scheduler.idle_cores_only ? 0 : 3;
  CHECK(after == (sibling_busy ? otherwise : 2));
}

TEST_CASE("an interrupt takes longer while the sibling of its CPU is busy") {
  struct Handler final : EventHandler {
    explicit Handler(World& w) : world(w) {}
    void on_event(std::uint64_t) override { at = world.now(); }
    World& world;
    Ps at = -1;
  };
  Profile profile = free_profile(1);
  profile.server.cpu.smt_ways = 2;
  profile.server.cpu.smt_throughput = 0.5;
  Run run(profile);
  Handler handler(run.simulation.world());
  Ps raised = 0;
  const int cpu = GENERATE(0, 1);  // that of the interrupt; the thread's is 1
  run({[&] {
        Processors& cpus = run.simulation.host(0).cpus();
        raised = run.now();
        cpus.interrupt(cpus.core(static_cast<std::size_t>(cpu)), 1 * us, 500 * ns, handler, 0);
        work(run.simulation, 10 * us);
      }},
      {{1}});
  CHECK(handler.at == raised + (cpu == 0 ? 3 * us : 1500 * ns));
}

// The calling thread lets it go off after 10 us of work, and works a microsecond more. When that is done.
Ps set_off(Alarm& alarm, Run& run) {
  Thread& self = *run.simulation.world().current();
  self.spend(10 * us, Spent::program);
  self.record(alarm, 0);
  self.spend(1 * us, Spent::program);
  self.flush();
  return run.now();
}

// When a thread of CPU 0 ends that wakes one for which there are these CPUs, while CPU 1 is busy or not.
Ps waker_ends(const Profile& profile, const std::vector<int>& woken_cpus, bool busy) {
  Run run(profile);
  Alarm alarm;
  Ps ended = 0;
  run({[&] { sleep_until(alarm, run.simulation.world()); }, [&] { ended = set_off(alarm, run); },
       [&] {
         if (busy) work(run.simulation, 20 * us);
       }},
      {woken_cpus, {0}, {1}});
  return ended;
}

TEST_CASE("who wakes a thread for another CPU pays for it, by whether that is idle") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_elsewhere = 200 * ns;
  profile.server.scheduler.wake_idle = 300 * ns;
  const bool elsewhere = GENERATE(false, true);
  const bool busy = GENERATE(false, true);
  CHECK(waker_ends(profile, {elsewhere ? 1 : 0}, busy) ==
        11 * us + (elsewhere ? (busy ? 200 * ns : 300 * ns) : 0));
}

// CPU 1 is idle from when all have begun, which is time 0 here, or busy. A thread there is woken after 10 us,
// and a second one after so much more work, by a thread of CPU 0.
struct TwoWoken {
  Ps first = 0;
  Ps second = 0;
  Ps waker_ended = 0;

  TwoWoken(const Profile& profile, Ps later, bool busy) {
    Run run(profile);
    Ps begun = 0;
    Alarm alarm_of_first;
    Alarm alarm_of_second;
    run({[&] {
           sleep_until(alarm_of_first, run.simulation.world());
           first = run.now() - begun;
           work(run.simulation, 3 * us);
         },
         [&] {
           sleep_until(alarm_of_second, run.simulation.world());
           second = run.now() - begun;
         },
         [&] {
           begun = run.now();
           Thread& self = *run.simulation.world().current();
           self.spend(10 * us, Spent::program);
           self.record(alarm_of_first, 0);
           self.spend(later, Spent::program);
           self.record(alarm_of_second, 0);
           self.spend(1 * us, Spent::program);
           self.flush();
           waker_ended = run.now() - begun;
         },
         [&] {
           if (busy) work(run.simulation, 100 * us);
         }},
        {{1}, {1}, {0}, {1}});
  }
};

TEST_CASE("who wakes a thread for a CPU before that halts interrupts nothing, and the thread is there soon") {
  Profile profile = free_profile(2);
  SchedulerProfile& os = profile.server.scheduler;
  os.wake_elsewhere = 200 * ns;
  os.wake_idle = 300 * ns;
  os.wakeup_latency = 50 * us;
  os.halt_after = GENERATE(0 * us, 10 * us, 11 * us);
  os.wakeup_before_halt = 25 * us;
  const bool halted = os.halt_after <= 10 * us;
  const TwoWoken woken(profile, 1'000 * us, false);
  CHECK(woken.first == (halted ? 60 * us : 25 * us));
  // It is idle again by then.
  CHECK(woken.second == 1'060 * us + (halted ? 300 * ns : 0));
  CHECK(woken.waker_ended == 1'011 * us + (halted ? 600 * ns : 300 * ns));
}

TEST_CASE("who wakes a thread for a CPU that comes to life for another one interrupts nothing") {
  Profile profile = free_profile(2);
  SchedulerProfile& os = profile.server.scheduler;
  os.wake_elsewhere = 200 * ns;
  os.wake_idle = 300 * ns;
  os.reschedule = 400 * ns;
  os.reschedule_interrupt = 600 * ns;
  os.wakeup_latency = 50 * us;
  os.wakeup_granularity = 1 * us;
  const Ps later = GENERATE(20 * us, 51 * us);
  const bool alive = later > 50 * us;
  const TwoWoken woken(profile, later, false);
  CHECK(woken.first == 60 * us);
  // Behind the first; or, that has had more than 1 us, in its place.
  CHECK(woken.second == (alive ? 61 * us + 300 * ns + 600 * ns : 63 * us));
  CHECK(woken.waker_ended == 11 * us + later + 300 * ns + (alive ? 600 * ns : 0));
}

TEST_CASE("who is woken for a CPU that is interrupted for another one waits, and interrupts nothing") {
  Profile profile = free_profile(2);
  SchedulerProfile& os = profile.server.scheduler;
  os.wake_elsewhere = 200 * ns;
  os.reschedule = 400 * ns;
  os.reschedule_interrupt = 5 * us;
  os.wakeup_granularity = 1 * us;
  const Ps later = GENERATE(1 * us, 7 * us);
  const bool interrupted = later < 5 * us;
  // What the first wake-up costs the waker is part of it.
  const TwoWoken woken(profile, later - 600 * ns, true);
  CHECK(woken.first == 15 * us);
  // Behind the first, which has had 5 us more than the one by then; or in its place.
  CHECK(woken.second == (interrupted ? 18 * us : 22 * us));
  CHECK(woken.waker_ended == 11 * us + later + 200 * ns + (interrupted ? 0 : 400 * ns));
}

TEST_CASE("who wakes a thread of its own CPU pays for looking at another that is busy, if that may have it") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_beside = 250 * ns;
  const bool bound = GENERATE(false, true);
  const bool busy = GENERATE(false, true);
  const std::vector<int> cpus = bound ? std::vector{0} : std::vector{0, 1};
  CHECK(waker_ends(profile, cpus, busy) == 11 * us + (busy && !bound ? 250 * ns : 0));
}

TEST_CASE("waking a thread takes its time of the CPU even if the waker ends") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_idle = 300 * ns;
  Run run(profile);
  Alarm alarm;
  Ps begun = 0;
  run({[&] { sleep_until(alarm, run.simulation.world()); },
       [&] {
         Thread& self = *run.simulation.world().current();
         self.spend(10 * us, Spent::program);
         self.record(alarm, 0);
         self.flush();
       },
       [&] { begun = run.now(); }},
      {{1}, {0}, {0}});
  CHECK(begun == 10 * us + 300 * ns);
}

// A thread that another one wakes while a third or that one itself runs on its CPU.
struct Woken {
  Ps at = 0;
  ThreadUsage usage;

  void await(Alarm& alarm, Run& run) {
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    sleep_until(alarm, run.simulation.world());
    at = run.now();
    usage = runtime.usage();
  }
};

TEST_CASE(
    "who takes another CPU for a thread that it wakes pays for telling it, and the CPU is interrupted") {
  Profile profile = free_profile(2);
  SchedulerProfile& os = profile.server.scheduler;
  os.wake_elsewhere = 200 * ns;
  os.reschedule = 400 * ns;
  os.reschedule_interrupt = 600 * ns;
  // The thread there is 10 us ahead by then.
  os.wakeup_granularity = GENERATE(9 * us, 11 * us);
  const bool preempts = os.wakeup_granularity < 10 * us;
  Run run(profile);
  Alarm alarm;
  Woken woken;
  Ps ended = 0;
  Ps ended_there = 0;
  run({[&] { woken.await(alarm, run); }, [&] { ended = set_off(alarm, run); },
       [&] {
         work(run.simulation, 20 * us);
         ended_there = run.now();
       }},
      {{1}, {0}, {1}});
  CHECK(ended == 11 * us + 200 * ns + (preempts ? 400 * ns : 0));
  CHECK(woken.at == (preempts ? 10 * us + 600 * ns : 20 * us));
  CHECK(woken.usage.cpu_time == to_duration(preempts ? 600 * ns : 0));
  CHECK(ended_there == 20 * us + (preempts ? 600 * ns : 0));
}

TEST_CASE("who is woken and takes the CPU from its waker is charged for being woken, else the waker is") {
  Profile profile = free_profile(1);
  profile.server.scheduler.wake_cost = 300 * ns;
  // The waker has had 10 us, for 300 ns of which it is not charged yet.
  profile.server.scheduler.wakeup_granularity = GENERATE(9'600 * ns, 9'800 * ns);
  const bool preempts = profile.server.scheduler.wakeup_granularity < 9'700 * ns;
  Run run(profile);
  Alarm alarm;
  Woken woken;
  ThreadUsage waker;
  run({[&] { woken.await(alarm, run); },
       [&] {
         SimRuntime runtime(run.simulation, run.simulation.host(0));
         set_off(alarm, run);
         waker = runtime.usage();
       }});
  CHECK(woken.at == (preempts ? 10 * us : 11 * us));
  CHECK(woken.usage.cpu_time == to_duration(preempts ? 300 * ns : 0));
  CHECK(waker.cpu_time == to_duration(11 * us - (preempts ? 300 * ns : 0)));
}

TEST_CASE("a CPU of another socket costs who wakes a thread for it more, an interrupt as well") {
  Profile profile = free_profile(1);
  profile.server.cpu.sockets = 2;
  profile.server.scheduler.wake_other_socket = 400 * ns;
  const int cpu = GENERATE(0, 1);  // of the thread that is woken from CPU 0
  const Ps more = cpu == 1 ? 400 * ns : 0;
  Run run(profile);
  Alarm alarm;
  const auto sleep = [&] { sleep_until(alarm, run.simulation.world()); };
  SECTION("a thread") {
    Ps ended = 0;
    run({sleep, [&] { ended = set_off(alarm, run); }}, {{cpu}, {0}});
    CHECK(ended == 11 * us + more);
  }
  SECTION("an interrupt") {
    Alarm second;
    Ps woken = 0;
    run({sleep,
         [&] {
           Processors& cpus = run.simulation.host(0).cpus();
           cpus.interrupt(cpus.core(0), 1 * us, 500 * ns, alarm, 0);
           work(run.simulation, 1700 * ns);  // on another CPU
           cpus.interrupt(cpus.core(0), 1 * us, 500 * ns, second, 0);
           sleep_until(second, run.simulation.world());
           woken = run.now();
         }},
        {{cpu}, {1}});
    // The first ends at 1500 ns. If its CPU is still at it 200 ns later, there is no other entry.
    CHECK(woken == (cpu == 1 ? 1900 * ns + 500 * ns : 1700 * ns + 1500 * ns));
  }
}

TEST_CASE("a thread comes to its waker's CPU where that has less to do, if the kernel does so") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_affine = GENERATE(false, true);
  const bool draws = profile.server.scheduler.wake_affine;
  const bool less = GENERATE(false, true);  // on CPU 0 than on CPU 1
  Run run(profile);
  Alarm alarm;
  int before = -1;
  int after = -1;
  const auto busy = [&] { work(run.simulation, 400 * ms); };
  run({[&] {
         Thread& self = *run.simulation.world().current();
         self.spend(100 * ms, Spent::program);
         self.record(alarm, 0);
         self.spend(100 * ms, Spent::program);
         self.flush();
       },
       [&] {
         const Thread& self = *run.simulation.world().current();
         before = self.core->cpu();
         sleep_until(alarm, run.simulation.world());
         after = self.core->cpu();
       },
       busy, busy},
      {{0}, {}, {less ? 1 : 0}, {1}});
  CHECK(before == 1);
  CHECK(after == (draws && less ? 0 : 1));
}

// Wakes its sleeper on behalf of a thread that may be about to sleep.
struct AlarmOf final : EventHandler {
  Alarm alarm;
  Thread* waker = nullptr;
  bool sleeps = false;

  void on_event(std::uint64_t tag) override {
    World& world = alarm.sleeper->world();
    world.set_cause(waker, sleeps);
    alarm.on_event(tag);
    world.set_cause(nullptr);
  }
};

TEST_CASE(
    "a waker that is about to sleep counts for nothing on its CPU, and draws a thread if it is alone there") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_affine = true;
  const bool sleeps = GENERATE(false, true);
  // Who has slept for 100 or 200 ms counts 0.11 or 0.01, all others 1: 1.11 against 1.08, or 2.01, and 1.01
  // without the waker.
  const bool alone = GENERATE(false, true);
  Run run(profile);
  AlarmOf alarm;
  int before = -1;
  int after = -1;
  const auto busy = [&] { work(run.simulation, 400 * ms); };
  run({[&] {
         Thread& self = *run.simulation.world().current();
         alarm.sleeps = sleeps;
         alarm.waker = &self;
         self.spend(100 * ms, Spent::program);  // takes twice as long beside another one
         self.record(alarm, 0);
         self.spend(100 * ms, Spent::program);
         self.flush();
       },
       [&] {
         const Thread& self = *run.simulation.world().current();
         before = self.core->cpu();
         sleep_until(alarm.alarm, run.simulation.world());
         after = self.core->cpu();
       },
       busy,
       [&] {
         if (!alone) busy();
       }},
      {{0}, {}, {1}, {0}});
  CHECK(before == 1);
  CHECK(after == (sleeps ? 0 : 1));
}

TEST_CASE("a thread does not come to its waker's CPU if one of the two wakes many and the other some") {
  Profile profile = free_profile(2);
  profile.server.scheduler.wake_affine = true;
  const int wakers_turns = GENERATE(1, 2);  // of waking both others; the woken one has one
  const bool wide = wakers_turns > 1;       // 2 flips a turn and one more now; 2 CPUs x 2 flips at least
  Run run(profile);
  Alarm alarm;
  Alarm first;
  Alarm second;
  bool over = false;
  int before = -1;
  int after = -1;
  const auto wake_both = [&](int turns) {
    Thread& self = *run.simulation.world().current();
    for (int i = 0; i < turns; ++i) {
      for (Alarm* other : {&first, &second}) {
        self.record(*other, 0);
        self.spend(1 * us, Spent::program);
        self.flush();
        sleep_until(run, run.now() + 100 * us);
      }
    }
  };
  const auto doze = [&](Alarm& own) {
    while (!over) sleep_until(own, run.simulation.world());
  };
  const auto busy = [&] {
    sleep_until(run, 50 * ms);
    work(run.simulation, 400 * ms);
  };
  run({[&] {
         sleep_until(run, 10 * ms);
         wake_both(wakers_turns);
         sleep_until(run, 50 * ms);
         Thread& self = *run.simulation.world().current();
         self.spend(200 * ms, Spent::program);
         self.record(alarm, 0);
         self.spend(100 * ms, Spent::program);
         self.flush();
         over = true;
         for (Alarm* other : {&first, &second}) {
           self.record(*other, 0);
           self.flush();
         }
       },
       [&] {
         sleep_until(run, 1 * ms);
         wake_both(1);
         const Thread& self = *run.simulation.world().current();
         sleep_until(run, 60 * ms);
         before = self.core->cpu();
         sleep_until(alarm, run.simulation.world());
         after = self.core->cpu();
       },
       [&] { doze(first); }, [&] { doze(second); }, busy, busy, busy},
      {{0}, {}, {}, {}, {1}, {1}, {1}});
  INFO(wakers_turns);
  CHECK(before == 1);
  CHECK(after == (wide ? 1 : 0));
}

TEST_CASE("EEVDF: who yields gives up its slice") {
  Profile profile = free_profile(1);
  SchedulerProfile& scheduler = profile.server.scheduler;
  scheduler.kind = SchedulerProfile::Kind::eevdf;
  scheduler.tick = 4 * ms;
  scheduler.slice = 1'500 * us;
  Run run(profile);
  Ps end = forever;
  int yields = 0;
  run({[&] {
         work(run.simulation, 2'000 * ms);
         end = run.now();
       },
       [&] {
         Thread& self = *run.simulation.world().current();
         Yield yield(self);
         while (run.now() < end) {
           self.record(yield, 0);
           self.spend(500 * ns, Spent::program);
           self.flush();
           ++yields;
         }
       }});
  // Both have had the same in virtual time: 2 s, a slice each yield. Linux 6.18: 1428 (rkv_bench_yield).
  CHECK(yields >= 2'000'000 / 1'500);
  CHECK(yields <= 2'000'000 / 1'500 + 3);
}

TEST_CASE("the tick that ends a slice takes up to its jitter") {
  Profile profile = free_profile(1);
  profile.server.scheduler.tick_jitter = GENERATE(0, 100 * us);
  const Ps jitter = profile.server.scheduler.tick_jitter;
  Run run(profile);
  Ps begun = 0;
  Ps ended = 0;
  run({[&] {
         work(run.simulation, 4 * ms);
         ended = run.now();
       },
       [&] { begun = run.now(); }});
  CHECK(begun >= 3 * ms + (jitter > 0 ? 1 : 0));
  CHECK(begun <= 3 * ms + jitter);
  CHECK(ended == begun + 1 * ms);  // nobody has done anything meanwhile
}

TEST_CASE("what a thread touches comes back from the cache that holds what all have touched") {
  Profile profile = free_profile(1);
  MemoryProfile& memory = profile.server.memory;
  const int at_once = GENERATE(1, 4);
  memory.lines_at_once = at_once;
  memory.lines = {{512, 1 * ns}, {1'024, 2 * ns}, {2'048, 5 * ns}};
  profile.server.scheduler.switch_footprint_bytes = 1'024;
  const bool less = GENERATE(false, true);  // the second one touches
  Run run(profile);
  Ps first = 0;
  Ps second = 0;
  run({[&] {
         work(run.simulation, 4 * ms);
         first = run.now();
       },
       [&] {
         if (less) run.simulation.world().current()->footprint_bytes = 512;
         work(run.simulation, 4 * ms);
         second = run.now();
       }});
  // Slices of 3 ms. Each comes back once, behind the other: 16 lines, 3 ns more each, one or several at once;
  // or eight, 1 ns more each.
  CHECK(first == 7 * ms + 48 * ns / at_once);
  CHECK(second == first + 1 * ms + (less ? 8'000 : 48'000) / at_once);
}

// A thread sleeps by an operation that looks for something to do when it is woken, and finds some the second
// time only.
TEST_CASE("a thread that is woken in vain touches little, and the rest when it finds something to do") {
  class Look final : public Operation {
   public:
    Next step(Thread& thread) override {
      if (looks_++ > 0) return Next::done();
      thread.looks_first = true;
      return Next::sleep();
    }
    void on_signal(Thread&) override {}

   private:
    int looks_ = 0;
  };
  Profile profile = free_profile(1);
  profile.server.memory.lines = {{1'024, 2 * ns}, {2'048, 5 * ns}, {4'096, 8 * ns}};
  profile.server.scheduler.switch_footprint_bytes = 1'024;
  Run run(profile);
  Alarm alarm;
  std::vector<Ps> finds;
  run({[&] {
         Thread& self = *run.simulation.world().current();
         work(run.simulation, 1 * us);
         for (int i = 0; i < 2; ++i) {
           alarm.sleeper = &self;
           Look look;
           self.perform(look);
           finds.push_back(self.gone);
         }
       },
       [&] {
         for (int i = 0; i < 2; ++i) {
           Thread& self = *run.simulation.world().current();
           self.spend(10 * us, Spent::program);
           self.record(alarm, 0);
           sleep_until(run, run.now() + 100 * us);
         }
       }});
  // Of 16 lines each costs 3 ns more behind one other turn. Two turns later, of which its own has touched
  // nothing, 6 ns more.
  CHECK(finds == std::vector<Ps>{48 * ns, 96 * ns});
}

TEST_CASE("a switch takes longer for each doubling of the threads that are ready") {
  Profile profile = free_profile(1);
  profile.server.scheduler.run_queue_level = 100 * ns;
  Run run(profile);
  std::vector<Ps> ends(4);
  std::vector<std::function<void()>> bodies;
  for (Ps& end : ends) {
    bodies.emplace_back([&run, &end] {
      work(run.simulation, 1 * ms);
      end = run.now();
    });
  }
  run(bodies);
  // One after the other. The first finds none; with three ready log2(3) levels are passed, with two one,
  // alone none.
  std::sort(ends.begin(), ends.end());
  CHECK(ends[0] == 1 * ms);
  CHECK(ends[1] == 2 * ms + 158'496);
  CHECK(ends[2] == 3 * ms + 158'496 + 100 * ns);
  CHECK(ends[3] == 4 * ms + 158'496 + 100 * ns);
}

TEST_CASE("with one thread more than CPUs, all get on alike") {
  Profile profile = free_profile(4);
  profile.server.scheduler.balance_interval = 20 * ms;
  profile.server.scheduler.stray_exchanges = 0;
  Run run(profile);
  std::vector<Ps> ends(5);
  std::vector<std::function<void()>> bodies;
  for (std::size_t who = 0; who < ends.size(); ++who) {
    bodies.emplace_back([&, who] {
      work(run.simulation, 800 * ms);
      ends[who] = run.now();
    });
  }
  run(bodies);
  // 4 s of work on 4 CPUs; two that shared one CPU all the time would take 1.6 s, the others 0.8 s.
  for (const Ps end : ends) {
    CHECK(end > 900 * ms);
    CHECK(end < 1'100 * ms);
  }
}

TEST_CASE("EEVDF: an idle CPU leaves who has run within the last half millisecond where it waits") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = SchedulerProfile::Kind::eevdf;
  profile.server.scheduler.slice = 3 * ms;
  const Ps idle_at = GENERATE(4'300 * us, 4'600 * us);
  Run run(profile);
  Ps ended = 0;
  run({[&] { work(run.simulation, 20 * ms); },
       [&] {
         work(run.simulation, idle_at);
         sleep_until(run, 20 * ms);
       },
       [&] {
         work(run.simulation, 3 * ms);
         ended = run.now();
       }},
      {{0}, {1}, {}});
  // On CPU 0 in turn: half slices, ended by ticks, until 2 and 4 ms, a slice until 7 ms. Then, if not before,
  // the idle CPU takes the third thread over, which has had 2 ms.
  CHECK(ended == (idle_at > 4'500 * us ? idle_at : 7 * ms) + 1 * ms);
}

TEST_CASE("a thread that comes from another CPU takes turns with who has run there alone for long") {
  Profile profile = free_profile(2);
  profile.server.scheduler.kind = GENERATE(SchedulerProfile::Kind::cfs, SchedulerProfile::Kind::eevdf);
  profile.server.scheduler.balance_interval = 20 * ms;
  profile.server.scheduler.stray_exchanges = 0;
  Run run(profile);
  Ps longest_wait = 0;
  const auto in_pieces = [&](int pieces) {
    for (int i = 0; i < pieces; ++i) {
      const Ps before = run.now();
      work(run.simulation, 1 * ms);
      longest_wait = std::max(longest_wait, run.now() - before - 1 * ms);
    }
  };
  std::set<int> seen;
  run({[&] { in_pieces(2'000); }, [&] { in_pieces(2'000); },
       [&] {
         sleep_until(run, 1'000 * ms);
         for (int i = 0; i < 500; ++i) {
           in_pieces(1);
           seen.insert(run.simulation.world().current()->core->cpu());
         }
       }},
      {{0}, {1}, {}});
  CHECK(seen.size() == 2);
  // A slice of 3 ms, ended by a tick, and one more for who was moved in front of it.
  CHECK(longest_wait <= 8 * ms);
}

TEST_CASE(
    "a CPU that is idle for short times only leaves waiting threads where they are until a slice ends") {
  Profile profile = free_profile(2);
  profile.server.scheduler.idle_pull_after = GENERATE(0, 500 * us);
  const bool at_once = profile.server.scheduler.idle_pull_after == 0;
  Run run(profile);
  Ps begun = 0;
  Ps ended = 0;
  run({[&] { work(run.simulation, 20 * ms); },
       [&] {
         SimRuntime runtime(run.simulation, run.simulation.host(0));
         const auto work_and_sleep = [&] {
           for (int i = 0; i < 100; ++i) {
             work(run.simulation, 10 * us);
             sleep_until(run, run.now() + 10 * us);
           }
         };
         work_and_sleep();  // the mean of idle times comes down from 1 ms
         begun = run.now();
         const auto third = runtime.spawn({.name = "third", .cores = {}}, [&] {
           work(run.simulation, 500 * us);
           ended = run.now();
         });
         work_and_sleep();
         third->join();
       }},
      {{0}, {1}});
  CHECK(begun == 2 * ms);
  if (at_once) {
    CHECK(ended == begun + 500 * us);  // when the second sleeps, for it to begin
  } else {
    CHECK(ended == 3 * ms + 500 * us);  // when the first one's slice ends
  }
}

TEST_CASE("SMT siblings slow each other down, and only while both are busy") {
  Profile profile = free_profile(1);
  profile.server.cpu.smt_ways = 2;
  profile.server.cpu.smt_throughput = 0.5;
  Run run(profile);
  std::vector<Ps> ends(2);
  run({[&] {
         work(run.simulation, 4 * ms);
         ends[0] = run.now();
       },
       [&] {
         work(run.simulation, 1 * ms);
         ends[1] = run.now();
       }});
  // Both at half speed until 2 ms, then the first has 3 ms left for itself.
  CHECK(ends[1] == 2 * ms);
  CHECK(ends[0] == 5 * ms);
}

TEST_CASE("a woken thread preempts a running one that is far ahead, else it waits for the slice's end") {
  Profile profile = free_profile(1);
  profile.server.scheduler.kind = SchedulerProfile::Kind::cfs;
  profile.server.scheduler.latency = 6 * ms;
  profile.server.scheduler.wakeup_granularity = GENERATE(1 * ms, 5 * ms);
  const bool preempts = profile.server.scheduler.wakeup_granularity == 1 * ms;
  Run run(profile);
  Ps woke = 0;
  run({[&] {
         sleep_until(run, 2 * ms);
         woke = run.now();
       },
       [&] { work(run.simulation, 20 * ms); }});
  // At 2 ms the other is 2 ms ahead of the floor, and the sleeper is placed no earlier than its own virtual
  // time. Without preemption the slice of two ends when the runner has had 3 ms.
  CHECK(woke == (preempts ? 2 * ms : 3 * ms));
}

struct Handler final : EventHandler {
  explicit Handler(World& its_world) : world(its_world) {}
  void on_event(std::uint64_t) override { at.push_back(world.now()); }
  World& world;
  std::vector<Ps> at;
};

TEST_CASE(
    "interrupts take their time from the thread they interrupt, and are handled together when they can be") {
  Profile profile = free_profile(1);
  profile.server.scheduler.interrupt_cpu = 0;
  Run run(profile);
  Handler handler(run.simulation.world());
  Ps ended = 0;
  run({[&] {
    Thread& self = *run.simulation.world().current();
    Processors& cpus = run.simulation.host(0).cpus();
    cpus.interrupt(*self.core, 1 * us, 2 * us, handler, 0);
    cpus.interrupt(*self.core, 1 * us, 3 * us, handler, 1);  // the first is not over: no second entry
    work(run.simulation, 10 * us);
    cpus.interrupt(*self.core, 1 * us, 3 * us, handler, 2);
    work(run.simulation, 10 * us);
    ended = run.now();
  }});
  CHECK(handler.at == std::vector<Ps>{3 * us, 6 * us, 20 * us});
  CHECK(ended == 30 * us);
}

TEST_CASE("a thread that interrupts keep off its CPU from one tick to the next moves to an idle one") {
  // An interrupt every 2 us that takes 2 us: nothing is left of CPU 0.
  struct Storm final : EventHandler {
    Storm(World& its_world, Processors& its_cpus) : world(its_world), cpus(its_cpus) {}
    void on_event(std::uint64_t) override {
      if (world.now() < 20 * ms) cpus.interrupt(cpus.core(0), 0, 2 * us, *this, 0);
    }
    World& world;
    Processors& cpus;
  };
  Profile profile = free_profile(GENERATE(1U, 2U));
  profile.server.scheduler.interrupt_cpu = 0;
  Run run(profile);
  Storm storm(run.simulation.world(), run.simulation.host(0).cpus());
  Ps ended = 0;
  // Ticks are at 1, 2, 3 ms: from the beginning on, it is seen at the first of them; from 300 us on the whole
  // period before the second has to pass. Alone the thread waits for the storm's end.
  const Ps begin = GENERATE(0 * us, 300 * us);
  const Ps seen = begin == 0 ? 1 * ms : 2 * ms;
  run({[&] {
    run.simulation.world().at(begin, storm, 0);
    work(run.simulation, 5 * ms);
    ended = run.now();
  }});
  CHECK(ended == (profile.server.cpu.cores_per_socket == 2 ? seen + 5 * ms : 20 * ms + 5 * ms) - begin);
}

TEST_CASE("single steps through SimGrid give the same times as running ahead") {
  const bool single = GENERATE(false, true);
  Simulation simulation(free_profile(2), {.single_steps = single});
  std::vector<Ps> ends;
  simulation.run([&] {
    SimRuntime runtime(simulation, simulation.host(0));
    std::vector<std::unique_ptr<rkv::Thread>> threads;
    for (int i = 1; i <= 5; ++i) {
      threads.push_back(runtime.spawn({.name = "worker", .cores = {}}, [&, i] {
        work(simulation, i * 2 * ms);
        ends.push_back(simulation.world().now());
      }));
    }
    for (auto& thread : threads) thread->join();
  });
  static std::vector<Ps> run_ahead;
  if (!single) run_ahead = ends;
  CHECK(ends == run_ahead);
  CHECK(ends.size() == 5);
}

TEST_CASE("threads that wait for what never comes are an error, and the next simulation runs all the same") {
  {
    Simulation simulation(free_profile(1));
    CHECK_THROWS_WITH(simulation.run([&] {
      SimRuntime runtime(simulation, simulation.host(0));
      const auto stop = runtime.make_stop_flag();
      runtime.sleep_until(never, *stop);
    }),
                      Catch::Contains("stands still"));
  }
  Run run(free_profile(1));
  Ps ended = 0;
  run({[&] {
    work(run.simulation, 1 * us);
    ended = run.now();
  }});
  CHECK(ended == 1 * us);
}

TEST_CASE("time goes on past ten thousand seconds, to the picosecond") {
  Run run(free_profile(1));
  constexpr Ps second = 1'000 * ms;
  Ps ended = 0;
  run({[&] {
    SimRuntime runtime(run.simulation, run.simulation.host(0));
    const auto stop = runtime.make_stop_flag();
    for (int i = 0; i < 12; ++i) {
      runtime.sleep_until(to_instant(run.now()) + std::chrono::seconds(1'000), *stop);
      work(run.simulation, 7);
    }
    ended = run.now();
  }});
  CHECK(ended / second == 12'000);
  // Sleeping goes by nanoseconds, so each sleep starts from what the last work left of one.
  CHECK(ended % second == 7);
}

}  // namespace
}  // namespace rkv::sim::test
