// Locks of queues that threads poll: how far apart their looks are, and what happens when the one who holds
// it loses its CPU.
#include "backends/sim/cpu/poll_lock.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// On CPU `i` of two sockets of two, thread `i`.
void with_threads(const std::function<void(std::vector<Thread*>)>& test) {
  Profile profile = free_profile(2);
  profile.server.cpu.sockets = 2;
  Simulation simulation(profile);
  SimRuntime runtime(simulation, simulation.host(0));
  std::vector<Thread*> threads(4);
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    bodies.emplace_back([&, i] { threads[i] = simulation.world().current(); });
  }
  simulation.run([&] { run_threads(runtime, bodies, {{0}, {1}, {2}, {3}}); });
  test(threads);
}

TEST_CASE("each looks once while all the others do", "[poll_lock]") {
  PollLock lock({.hand_over = 100 * ns, .a_waiter = 7 * ns});
  lock.join();
  CHECK(lock.between_looks(15 * ns) == 15 * ns);
  lock.join();
  CHECK(lock.between_looks(15 * ns) == 2 * (15 + 100 + 7) * ns);
  lock.join();
  CHECK(lock.between_looks(15 * ns) == 3 * (15 + 100 + 2 * 7) * ns);
  lock.leave();
  lock.leave();
  CHECK(lock.between_looks(15 * ns) == 15 * ns);
}

TEST_CASE("a look that takes pays for the lock unless it is the thread's already", "[poll_lock]") {
  with_threads([](const std::vector<Thread*>& threads) {
    PollLock lock({.hand_over = 100 * ns, .a_waiter = 7 * ns, .remote_factor = 1.5});
    lock.join();
    CHECK(lock.cost(*threads[0]) == 0);
    lock.taken(*threads[0]);
    CHECK(lock.cost(*threads[0]) == 0);
    CHECK(lock.cost(*threads[1]) == 100 * ns);
    CHECK(lock.cost(*threads[2]) == 150 * ns);  // in the other socket
    lock.join();
    CHECK(lock.cost(*threads[0]) == 107 * ns);
  });
}

TEST_CASE("who loses its CPU while it takes a completion holds the lock until it has one again",
          "[poll_lock]") {
  with_threads([](const std::vector<Thread*>& threads) {
    PollLock lock({.hand_over = 100 * ns});
    for (int i = 0; i < 3; ++i) lock.join();
    CHECK(lock.lose_cpu(*threads[0], true));
    CHECK(lock.held());
    CHECK(lock.between_looks(0) == 2 * 100 * ns);
    CHECK_FALSE(lock.lose_cpu(*threads[1], false));  // one holder is enough
    CHECK_FALSE(lock.regain_cpu(*threads[1]));
    CHECK(lock.held());
    CHECK(lock.regain_cpu(*threads[0]));
    CHECK_FALSE(lock.held());
    CHECK(lock.between_looks(0) == 3 * 100 * ns);
  });
}

TEST_CASE("a lock that only those take who find something costs nothing, and nobody else holds it",
          "[poll_lock]") {
  with_threads([](const std::vector<Thread*>& threads) {
    PollLock lock;
    for (int i = 0; i < 3; ++i) lock.join();
    lock.taken(*threads[2]);
    CHECK(lock.between_looks(15 * ns) == 15 * ns);
    CHECK(lock.cost(*threads[0]) == 0);
    for (int i = 0; i < 100; ++i) {
      CHECK_FALSE(lock.lose_cpu(*threads[0], false));
      CHECK_FALSE(lock.regain_cpu(*threads[0]));
    }
    CHECK(lock.lose_cpu(*threads[0], true));
    CHECK(lock.held());
    CHECK(lock.regain_cpu(*threads[0]));
    CHECK_FALSE(lock.held());
  });
}

TEST_CASE("of n who poll, each that loses its CPU holds the lock one time in n", "[poll_lock]") {
  with_threads([](const std::vector<Thread*>& threads) {
    for (const int pollers : {1, 2, 5}) {
      PollLock lock({.hand_over = 100 * ns});
      for (int i = 0; i < pollers; ++i) lock.join();
      constexpr int times = 20'000;
      int held = 0;
      for (int i = 0; i < times; ++i) {
        if (lock.lose_cpu(*threads[0], false)) ++held;
        (void)lock.regain_cpu(*threads[0]);
      }
      CHECK(held == Approx(times / pollers).epsilon(0.05));
    }
  });
}

}  // namespace
}  // namespace rkv::sim::test
