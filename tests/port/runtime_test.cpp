// Threads, time, accounted use and locks.
#include <catch2/catch.hpp>
#include <stdexcept>

#include "core/error.hpp"
#include "tests/port/port_fixture.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

void with_runtime(const std::function<void(Runtime&)>& body) {
  with_ports(Transport::tcp, [&](const PortPair& ports) { body(*ports.server.runtime); });
}

TEST_CASE("join rethrows what the body threw, once", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto thread = runtime.spawn({"thrower", {}}, [] { throw std::runtime_error("from the body"); });
    CHECK_THROWS_WITH(thread->join(), "from the body");
    CHECK_NOTHROW(thread->join());
  });
}

TEST_CASE("a thread on a CPU that does not exist is refused with the CPU's number", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    CHECK_THROWS_WITH(runtime.spawn({"worker 3", {0, 100'000}}, [] {}),
                      Catch::Contains("worker 3") && Catch::Contains("CPU 100000"));
  });
}

TEST_CASE("sleep_until does not return before its deadline", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto stop = runtime.make_stop_flag();
    const Instant deadline = runtime.now() + 2ms;
    runtime.sleep_until(deadline, *stop);
    CHECK(runtime.now() >= deadline);
    runtime.sleep_until(deadline - 1s, *stop);  // in the past: returns
  });
}

TEST_CASE("the stop flag ends a sleep without end and every later one", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto stop = runtime.make_stop_flag();
    const auto sleeper = runtime.spawn({"sleeper", {}}, [&] { runtime.sleep_until(never, *stop); });
    runtime.sleep_until(runtime.now() + 1ms, *runtime.make_stop_flag());
    CHECK_FALSE(stop->requested());
    stop->request();
    sleeper->join();
    CHECK(stop->requested());
    runtime.sleep_until(never, *stop);
  });
}

TEST_CASE("time never runs backwards and stamps lie between", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const Instant before = runtime.now();
    Instant stamped{};
    runtime.stamp(stamped);
    const Instant after = runtime.now();
    CHECK(before <= stamped);
    CHECK(stamped <= after);
  });
}

TEST_CASE("usage counts a thread's own sleeps as voluntary switches, from its start", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto stop = runtime.make_stop_flag();
    constexpr std::uint64_t switches = 20;
    // On a busy machine a thread may be kept from its CPU until the deadline has passed, and then need not
    // sleep.
    constexpr std::uint64_t most_sleeps = 50 * switches;
    std::uint64_t sleeps = 0;
    ThreadUsage at_start;
    ThreadUsage after_sleeps;
    const auto thread = runtime.spawn({"sleeper", {}}, [&] {
      at_start = runtime.usage();
      do {
        runtime.sleep_until(runtime.now() + 100us, *stop);
        ++sleeps;
        after_sleeps = runtime.usage();
      } while (after_sleeps.voluntary_switches - at_start.voluntary_switches < switches &&
               sleeps < most_sleeps);
    });
    thread->join();
    CHECK(after_sleeps.voluntary_switches - at_start.voluntary_switches >= switches);
    CHECK(after_sleeps.wall_time - at_start.wall_time >= sleeps * 100us);
    CHECK(after_sleeps.cpu_time >= at_start.cpu_time);
    CHECK(after_sleeps.cpu_time <= after_sleeps.wall_time);
  });
}

TEST_CASE("a try-lock has many readers or one writer and never waits", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    TryLock lock;
    REQUIRE(runtime.try_lock_shared(lock));
    CHECK(runtime.try_lock_shared(lock));
    CHECK_FALSE(runtime.try_lock(lock));
    runtime.unlock_shared(lock);
    CHECK_FALSE(runtime.try_lock(lock));
    runtime.unlock_shared(lock);
    CHECK(runtime.try_lock(lock));
    CHECK_FALSE(runtime.try_lock(lock));
    CHECK_FALSE(runtime.try_lock_shared(lock));
    runtime.unlock(lock);
    CHECK(runtime.try_lock_shared(lock));
  });
}

TEST_CASE("a mutex lets one thread in at a time", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    constexpr int rounds = 2000;
    int counter = 0;  // plain: a race is a lost count, and TSan's to see
    const auto count = [&] {
      for (int i = 0; i < rounds; ++i) {
        mutex->lock();
        ++counter;
        mutex->unlock();
      }
    };
    const auto first = runtime.spawn({"first", {}}, count);
    const auto second = runtime.spawn({"second", {}}, count);
    first->join();
    second->join();
    CHECK(counter == 2 * rounds);
  });
}

TEST_CASE("passing a mutex waits for its holder and leaves it free", "[runtime]") {
  with_runtime([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    const auto stop = runtime.make_stop_flag();
    bool held = true;  // ordered by the mutex; plain: a race is TSan's to see
    bool passed_while_held = true;
    mutex->lock();
    const auto passer = runtime.spawn({"passer", {}}, [&] {
      mutex->pass();
      static_cast<void>(runtime.now());  // what was recorded before is done
      passed_while_held = held;
    });
    runtime.sleep_until(runtime.now() + 2ms, *stop);
    held = false;
    mutex->unlock();
    passer->join();
    CHECK_FALSE(passed_while_held);
    mutex->lock();  // would wait for ever if the passer had kept it
    mutex->unlock();
    mutex->pass();
  });
}

}  // namespace
}  // namespace rkv::test
