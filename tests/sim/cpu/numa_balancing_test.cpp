// Who moves to another socket, when and in exchange for whom, worked out by hand.
#include "backends/sim/cpu/numa_balancing.hpp"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// Two sockets of a CPU each, on which walking costs nothing. CPU 0 is where the first thread begins.
Profile two_sockets() {
  Profile profile = free_profile(1);
  profile.server.cpu.sockets = 2;
  profile.server.memory.walk = {{1'024, 0}};
  profile.server.memory.bytes_an_entry = 0;
  profile.server.scheduler.numa_balancing = 10 * ms;
  return profile;
}

// Where a thread was, by the time.
using Stay = std::pair<Ps, int>;

class Host {
 public:
  explicit Host(const Profile& profile) : simulation_(profile) {}

  void operator()(const std::vector<std::function<void(SimRuntime&)>>& bodies) {
    simulation_.run([&] {
      SimRuntime runtime(simulation_, simulation_.host(0));
      std::vector<std::function<void()>> threads;
      for (const auto& body : bodies) threads.emplace_back([&runtime, &body] { body(runtime); });
      run_threads(runtime, threads);
    });
  }

  // Works for so many milliseconds, and notes each one's end at which it is on another CPU than before.
  void stay(std::vector<Stay>& stays, int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      note(stays);
      work(simulation_, 1 * ms);
    }
    note(stays);
  }

 private:
  void note(std::vector<Stay>& stays) {
    const int cpu = simulation_.world().current()->core->cpu();
    if (stays.empty() || stays.back().second != cpu) stays.emplace_back(simulation_.world().now(), cpu);
  }

  Simulation simulation_;
};

// A part in a million of what the other one walks: entries lie in that one's socket.
constexpr Work few{.entries_walked = 1, .working_set_bytes = 1'024};
constexpr Work nearly_all{.entries_walked = 1'000'000, .working_set_bytes = 1'024};

// Of two threads that walk and then work on, the second in the socket where the entries come to lie.
struct Stays {
  std::vector<Stay> first;
  std::vector<Stay> second;
};
Stays stays_of_two(const Profile& profile) {
  Host run(profile);
  Stays stays;
  run({[&](SimRuntime& runtime) {
         runtime.charge(few);
         run.stay(stays.first, 30);
       },
       [&](SimRuntime& runtime) {
         runtime.charge(nearly_all);
         run.stay(stays.second, 30);
       }});
  return stays;
}

TEST_CASE("a thread comes to an idle CPU of the socket where the entries lie, a period after its walk") {
  Host run(two_sockets());
  std::vector<Stay> stays;
  run({[&](SimRuntime& runtime) {
         runtime.charge(few);
         run.stay(stays, 30);
       },
       [](SimRuntime& runtime) { runtime.charge(nearly_all); }});
  // It is busy until the end of the millisecond in which it is moved.
  CHECK(stays == std::vector<Stay>{{0, 0}, {10 * ms, 1}});
}

TEST_CASE("threads of full sockets change places, each in its turn") {
  const auto [first, second] = stays_of_two(two_sockets());
  // Two have walked: turns at 10 and 15 ms. The second thread goes back to its entries.
  CHECK(first == std::vector<Stay>{{0, 0}, {10 * ms, 1}, {15 * ms, 0}});
  CHECK(second == std::vector<Stay>{{0, 1}, {10 * ms, 0}, {15 * ms, 1}});
}

TEST_CASE("a thread goes to no socket that has 12 % more threads") {
  CHECK(is_free_enough({.here = 1, .there = 0}));
  CHECK(is_free_enough({.here = 1, .there = 1}));
  CHECK_FALSE(is_free_enough({.here = 1, .there = 2}));
  CHECK_FALSE(is_free_enough({.here = 8, .there = 9}));  // 8.96
  CHECK(is_free_enough({.here = 9, .there = 10}));       // 10.08
}

TEST_CASE("a thread goes to no idle CPU if sockets are uneven then, and more so than before") {
  CHECK(may_move({.here = 9, .there = 7}));
  CHECK_FALSE(may_move({.here = 8, .there = 8}));
  CHECK_FALSE(may_move({.here = 17, .there = 17}));  // 18 > 17.92
  CHECK(may_move({.here = 18, .there = 18}));        // 19 < 19.04
  CHECK(may_move({.here = 1, .there = 0}));          // as uneven
  CHECK(may_move({.here = 2, .there = 1}));
  CHECK(may_move({.here = 5, .there = 1}));  // less so
  CHECK_FALSE(may_move({.here = 2, .there = 2}));
}

TEST_CASE("threads change places where one of them beside the other would make the sockets uneven") {
  Profile profile = two_sockets();
  profile.server.cpu.cores_per_socket = 2;  // CPUs 0 and 1, 2 and 3
  const auto [first, second] = stays_of_two(profile);
  CHECK(first == std::vector<Stay>{{0, 0}, {10 * ms, 2}, {15 * ms, 0}});
  CHECK(second == std::vector<Stay>{{0, 2}, {10 * ms, 0}, {15 * ms, 2}});
}

TEST_CASE("a thread goes from two threads in its socket to one in the other, not from one to two") {
  Profile profile = two_sockets();
  profile.server.cpu.cores_per_socket = 2;
  Host run(profile);
  // On CPUs 0, 2, 1 and 3, of which the third does nothing in the second section.
  std::vector<Stay> first;
  const auto walker = [&](SimRuntime& runtime) {
    runtime.charge(few);
    run.stay(first, 30);
  };
  std::vector<Stay> others;
  const auto walker_there = [&](SimRuntime& runtime) {
    runtime.charge(nearly_all);
    run.stay(others, 30);
  };
  const auto worker = [&](SimRuntime&) {
    std::vector<Stay> stays;
    run.stay(stays, 30);
  };
  SECTION("two threads and one") {
    run({walker, walker_there, worker});
    CHECK(first == std::vector<Stay>{{0, 0}, {10 * ms, 3}});
  }
  SECTION("one thread and two") {
    run({walker, walker_there, [](SimRuntime&) {}, worker});
    CHECK(first == std::vector<Stay>{{0, 0}});
  }
  CHECK(others == std::vector<Stay>{{0, 2}});
}

TEST_CASE("who does not walk the store stays, as everybody does without a period or another socket") {
  Profile profile = two_sockets();
  bool walks = true;
  SECTION("no walk") {
    walks = false;
  }
  SECTION("no period") {
    profile.server.scheduler.numa_balancing = 0;
  }
  SECTION("one socket") {
    profile.server.cpu.sockets = 1;
    profile.server.cpu.cores_per_socket = 2;
  }
  Host run(profile);
  std::vector<Stay> stays;
  run({[&](SimRuntime& runtime) {
         if (walks) runtime.charge(few);
         run.stay(stays, 30);
       },
       [](SimRuntime& runtime) { runtime.charge(nearly_all); }});
  CHECK(stays == std::vector<Stay>{{0, 0}});
}

}  // namespace
}  // namespace rkv::sim::test
