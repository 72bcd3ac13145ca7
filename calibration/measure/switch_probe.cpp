#include <sched.h>
#include <sys/resource.h>

#include <atomic>

#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned yields = 40;
constexpr unsigned repeated_yields = 200;

// Of the calling thread.
struct Use {
  double cpu_ns = cpu_time_ns();
  double switches = switch_count();

  static double switch_count() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
  }
};

// Two threads on one CPU give it to each other. What they use of it, beside the calls, is spent switching:
// another program on the CPU adds switches, but not its own time.
class SwitchProbe final : public Probe {
 public:
  explicit SwitchProbe(int cpu) : cpu_(cpu) {}
  [[nodiscard]] std::string_view name() const override { return "switching"; }
  // Each yield may cost a slice of every other thread that wants this CPU.
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    double cpu_ns = 0;
    double switches = 0;
    std::atomic<double> there_cpu_ns{0};
    std::atomic<double> there_switches{0};
    const auto yield_all = [](auto& cpu, auto& count) {
      const Use before;
      for (unsigned i = 0; i < yields; ++i) ::sched_yield();
      const Use after;
      cpu = after.cpu_ns - before.cpu_ns;
      count = after.switches - before.switches;
    };
    run_two(
        cpu_, [&](Turns&) { yield_all(cpu_ns, switches); },
        [&](Turns&) { yield_all(there_cpu_ns, there_switches); });
    // Alone a yield is a call that finds nobody.
    const double before = cpu_time_ns();
    for (unsigned i = 0; i < repeated_yields; ++i) ::sched_yield();
    const double call_ns = (cpu_time_ns() - before) / repeated_yields;
    const double all = switches + there_switches;
    if (all < yields) {
      samples.cannot(sampled::thread_switch, "sched_yield did not switch");
      return;
    }
    samples.add(sampled::thread_switch, (cpu_ns + there_cpu_ns - 2 * yields * call_ns) / all);
  }

 private:
  int cpu_;
};

}  // namespace

std::unique_ptr<Probe> make_switch_probe(const Bench& bench) {
  return std::make_unique<SwitchProbe>(bench.machine.cpus.first);
}

}  // namespace rkv::calibration
