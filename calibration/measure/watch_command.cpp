// rkv-calibrate watch: what state the machine is in while something else runs on it.
#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>

#include "backends/verbs/control/stop_signal.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/machine.hpp"
#include "calibration/measure/two_cpus.hpp"
#include "calibration/rkv_calibrate/command.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

struct WatchOptions {
  unsigned every_ms = 50;
  double seconds = 0;  // 0: until interrupted
};

// Ahead of all that runs at ordinary priorities: both threads of a look must have their CPUs at the same
// time.
void go_ahead_of_others() {
  sched_param priority{};
  priority.sched_priority = ::sched_get_priority_min(SCHED_FIFO);
  if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
    throw Error(fmt::format(
        "watch: its threads must go ahead of all others, and sched_setscheduler(SCHED_FIFO) failed: {}; "
        "run it as root",
        std::generic_category().message(errno)));
  }
}

// Looks at fixed times, by one of both threads. The one that is told says when it is over.
class Watch {
 public:
  explicit Watch(const WatchOptions& options) : options_(options), start_(verbs::clock_now()) {}

  void here(Turns& turns) {
    go_ahead_of_others();
    const control::StopSignal& interrupt = control::interrupt_signal();
    fmt::print("t_s,line_hand_over_ns\n");
    std::fflush(stdout);
    for (unsigned look = 1; !over_; ++look) {
      const Instant at = wait_for(look);
      const double time_ns = line_hand_over_ns(turns, Turns::Side::here);
      const double t_s = std::chrono::duration<double>(at - start_).count();
      turns.await(Turns::Side::here);
      over_ = interrupt.raised() || (options_.seconds > 0 && t_s >= options_.seconds);
      turns.pass(Turns::Side::here);
      fmt::print("{:.3f},{:.1f}\n", t_s, time_ns);  // the other one is asleep by now
      std::fflush(stdout);
    }
  }
  void there(Turns& turns) {
    go_ahead_of_others();
    bool over = false;
    for (unsigned look = 1; !over; ++look) {
      wait_for(look);
      static_cast<void>(line_hand_over_ns(turns, Turns::Side::there));
      turns.await(Turns::Side::there);
      over = over_;
      turns.pass(Turns::Side::there);
    }
  }

 private:
  Instant wait_for(unsigned look) {
    const Instant at = start_ + look * std::chrono::milliseconds{options_.every_ms};
    runtime_.sleep_until(at, *never_);
    return at;
  }

  const WatchOptions options_;
  const Instant start_;
  verbs::ThreadRuntime runtime_;
  std::unique_ptr<StopFlag> never_ = runtime_.make_stop_flag();
  bool over_ = false;  // passed with the turn
};

int watch(const WatchOptions& options) {
  const MachineFacts machine = machine_facts();
  if (!machine.cpus.second) throw InputError("watch: this process may run on one CPU only; it takes two");
  Watch watch(options);
  verbs::ThreadRuntime runtime;
  runtime
      .spawn({.name = "watch", .cores = {machine.cpus.first}},
             [&] {
               run_two(
                   *machine.cpus.second, [&](Turns& turns) { watch.here(turns); },
                   [&](Turns& turns) { watch.there(turns); });
             })
      ->join();
  return 0;
}

}  // namespace

void add_watch(CLI::App& app, Run* run) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* const command =
      app.add_subcommand("watch", "Tells again and again how near each other two of the machine's CPUs are");
  command->footer(
      "For virtual machines whose hypervisor moves their CPUs about while something else runs on them: "
      "prints the time\n"
      "a cache line takes from one CPU to another, as CSV, until it is interrupted. Two threads of real-time "
      "priority\n"
      "look for a quarter of a millisecond at most, so it must be root.\n\n"
      "Example:\n"
      "  rkv-calibrate watch --seconds 10");
  command->add_option("--every-ms", options->every_ms, "Milliseconds from one look to the next")
      ->check(CLI::Range(10, 60'000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "End by itself (default: when interrupted)")
      ->check(CLI::PositiveNumber);
  command->callback(
      [options, run] { *run = [options](const std::vector<std::string>&) { return watch(*options); }; });
}

}  // namespace rkv::calibration
