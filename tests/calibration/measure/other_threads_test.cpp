#include "calibration/measure/other_threads.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

using namespace rkv::calibration;
using Catch::Detail::Approx;

namespace {

constexpr double millisecond_ns = 1e6;

// As Linux writes them, of a thread with this nice and policy.
std::string stat_of(const std::string& name, int nice, int policy) {
  return "75 (" + name + ") S 1 0 0 0 -1 4194624 1 2 3 4 5 6 7 8 " + std::to_string(10 + nice) + " " +
         std::to_string(nice) + " 9 0 27 1 2 3 4 5 6 7 8 9 10 11 12 13 0 0 -1 1 0 " + std::to_string(policy) +
         " 0 0 0\n";
}
const std::string status_text =
    "Name:\tworker\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
const std::string sched_text =
    "worker (75, #threads: 9)\n-----\nse.nr_migrations     :        4\nnr_switches  : 15\n";

}  // namespace

TEST_CASE("a thread of another program as Linux's files tell it", "[calibration]") {
  const auto thread = other_thread(stat_of("worker", -10, 0), "2500000 17 15\n", status_text, sched_text);
  REQUIRE(thread);
  CHECK(thread->nice == -10);
  CHECK(thread->ran_ns == 2.5 * millisecond_ns);
  CHECK(thread->turns == 12);
  CHECK(thread->moves == 4);
  // Names may hold anything.
  CHECK(other_thread(stat_of("a) R 1 (b", 5, 0), "0 0 0", status_text, sched_text)->nice == 5);
  // Without CONFIG_SCHED_DEBUG.
  CHECK_FALSE(other_thread(stat_of("worker", 0, 0), "2500000 17 15", status_text, "")->moves);
  // Of real time, ended, or without CONFIG_SCHED_INFO.
  CHECK_FALSE(other_thread(stat_of("worker", 0, 1), "2500000 17 15", status_text, sched_text));
  CHECK_FALSE(other_thread("", "", "", ""));
  CHECK_FALSE(other_thread("75 (worker) S 1", "2500000 17 15", status_text, sched_text));
  CHECK_FALSE(other_thread(stat_of("worker", 0, 0), "", status_text, sched_text));
  CHECK_FALSE(other_thread(stat_of("worker", 0, 0), "2500000 17 15", "Name:\tworker\n", sched_text));
}

TEST_CASE("of threads that run for long, those that weigh more and those that move", "[calibration]") {
  OtherThreads before{{1, {.nice = 0, .ran_ns = 5 * millisecond_ns, .turns = 10, .moves = 3}},
                      {2, {.nice = -10, .ran_ns = 0, .turns = 0, .moves = 0}},
                      {3, {.nice = -20, .ran_ns = 0, .turns = 0, .moves = 0}},
                      {4, {.nice = 0, .ran_ns = 0, .turns = 0, .moves = 0}}};
  OtherThreads after = before;
  CHECK_FALSE(long_turns(before, after));  // none ran
  after[3] = {.nice = -20, .ran_ns = 0.9 * millisecond_ns, .turns = 10, .moves = 9};
  CHECK_FALSE(long_turns(before, after));  // for 0.09 ms at a time
  after[1] = {.nice = 0, .ran_ns = 11 * millisecond_ns, .turns = 18, .moves = 6};
  const auto light = long_turns(before, after);
  REQUIRE(light);
  CHECK(light->heavy_part == 0);
  CHECK_FALSE(light->weight);
  CHECK(*light->changing == Approx((3 + 1) / (8.0 + 2)));
  after[2] = {.nice = -10, .ran_ns = 2 * millisecond_ns, .turns = 2, .moves = 0};
  after[9] = {.nice = -5, .ran_ns = 100 * millisecond_ns, .turns = 1, .moves = 1};  // it is new
  const auto turns = long_turns(before, after);
  REQUIRE(turns);
  CHECK(turns->heavy_part == Approx(2.0 / 8));
  CHECK(*turns->weight == Approx(9.3132257));
  CHECK(*turns->changing == Approx((3 + 1) / (10.0 + 2)));
  // The mean over their time: 6 ms of one that weighs 1.25.
  after[4] = {.nice = -1, .ran_ns = 6 * millisecond_ns, .turns = 6, .moves = {}};
  CHECK(*long_turns(before, after)->weight == Approx((2 * 9.3132257 + 6 * 1.25) / 8));
  CHECK(*long_turns(before, after)->changing == Approx((3 + 1) / (10.0 + 2)));  // nobody knows
}

TEST_CASE("this process's threads are none of the others", "[calibration]") {
  int own = 0;
  std::thread([&] { own = ::gettid(); }).join();
  CHECK_FALSE(other_threads().contains(own));
  CHECK_FALSE(other_threads().contains(::getpid()));
}
