#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/slices.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr double shortest_kept_ns = 20'000;  // gaps: longer than reading the clock, shorter than any absence

std::vector<Gap> spin_until(Instant end) {
  std::vector<Gap> gaps;
  gaps.reserve(4096);
  for (Instant last = verbs::clock_now(); last < end;) {
    const Instant now = verbs::clock_now();
    if (nanoseconds_between(last, now) > shortest_kept_ns) {
      gaps.push_back({nanoseconds_between(Instant{}, last), nanoseconds_between(Instant{}, now)});
    }
    last = now;
  }
  return gaps;
}

class SchedulerProbe final : public Probe {
 public:
  SchedulerProbe(const MeasuredCpus& cpus, std::chrono::milliseconds time, unsigned every)
      : cpus_(cpus), time_(time), every_(every) {}

  [[nodiscard]] std::string_view name() const override { return "time slices"; }
  [[nodiscard]] unsigned every() const override { return every_; }

  void repeat(Samples& samples) override {
    std::vector<double> times;
    for (const unsigned threads : {2U, 3U, 4U}) {
      for (const std::vector<Gap>& gaps : spin_together(threads)) {
        for (const double slice : slices_between(gaps)) samples.add(sampled::slice(threads), slice);
        const std::vector<double> starts = absences(gaps);
        times.insert(times.end(), starts.begin(), starts.end());
      }
    }
    if (const auto tick = tick_of(times)) {
      samples.add(sampled::tick, *tick);
    } else {
      samples.cannot(sampled::tick, "threads lost the CPU at no tick that Linux can have");
    }
    samples.add(sampled::background, spin_everywhere());
  }

 private:
  // How often a second each of the threads that spin on all CPUs, one on each, lost it for a moment.
  double spin_everywhere() {
    std::vector<std::unique_ptr<Thread>> threads;
    std::atomic<std::uint64_t> switches{0};
    const Instant begin = verbs::clock_now();
    const Instant end = begin + 4 * time_;
    for (const int cpu : cpus_.all) {
      threads.push_back(runtime_.spawn({.name = "spinner", .cores = {cpu}}, [this, &switches, end] {
        static_cast<void>(spin_until(end));
        switches += runtime_.usage().involuntary_switches;
      }));
    }
    for (const auto& thread : threads) thread->join();
    const double each = static_cast<double>(switches) / static_cast<double>(cpus_.all.size());
    return each * 1e9 / nanoseconds_between(begin, end);
  }

  std::vector<std::vector<Gap>> spin_together(unsigned count) {
    std::vector<std::vector<Gap>> gaps(count);
    std::vector<std::unique_ptr<Thread>> threads;
    // Spawning waits for the thread to be on the CPU, which takes slices of those that spin there already.
    const Instant end = verbs::clock_now() + count * time_;
    for (unsigned i = 0; i < count; ++i) {
      threads.push_back(runtime_.spawn({.name = "spinner", .cores = {cpus_.first}},
                                       [&gaps, i, end] { gaps[i] = spin_until(end); }));
    }
    for (const auto& thread : threads) thread->join();
    return gaps;
  }

  MeasuredCpus cpus_;
  std::chrono::milliseconds time_;
  unsigned every_;
  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_scheduler_probe(const Bench& bench) {
  using std::chrono::milliseconds;
  return std::make_unique<SchedulerProbe>(bench.machine.cpus, milliseconds(bench.effort.quick ? 25 : 60),
                                          std::max(bench.effort.rounds / 5, 1U));
}

}  // namespace rkv::calibration
