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
constexpr double shortest_run_ns = 4'000;    // shorter than another thread takes with two switches
constexpr double long_run_ns = 100'000;

// Calls on_gap(before, after) for each pause in the readings of the clock that is longer than `shortest_ns`.
template <typename OnGap>
void spin_until(Instant end, double shortest_ns, OnGap on_gap) {
  for (Instant last = verbs::clock_now(); last < end;) {
    const Instant now = verbs::clock_now();
    if (nanoseconds_between(last, now) > shortest_ns) {
      on_gap(last, now);
      last = verbs::clock_now();
    } else {
      last = now;
    }
  }
}

std::vector<Gap> gaps_until(Instant end) {
  std::vector<Gap> gaps;
  gaps.reserve(4096);
  spin_until(end, shortest_kept_ns, [&](Instant before, Instant after) {
    gaps.push_back({nanoseconds_between(Instant{}, before), nanoseconds_between(Instant{}, after)});
  });
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
    spin_everywhere(samples);
  }

 private:
  // How often a second each of the threads that spin on all CPUs, one on each, lost it to another one, how
  // often for long, and for how long then. A gap without a switch is the host's, which had the CPU itself.
  void spin_everywhere(Samples& samples) {
    std::vector<std::unique_ptr<Thread>> threads;
    std::atomic<std::uint64_t> switches{0};
    std::vector<std::vector<double>> long_runs(cpus_.all.size());
    const Instant begin = verbs::clock_now();
    const Instant end = begin + 16 * time_;
    for (std::size_t i = 0; i < cpus_.all.size(); ++i) {
      threads.push_back(runtime_.spawn({.name = "spinner", .cores = {cpus_.all[i]}},
                                       [this, &switches, &runs = long_runs[i], end] {
                                         runs.reserve(4096);
                                         std::uint64_t seen = runtime_.usage().involuntary_switches;
                                         spin_until(end, shortest_run_ns, [&](Instant before, Instant after) {
                                           const std::uint64_t now = runtime_.usage().involuntary_switches;
                                           const double gone_ns = nanoseconds_between(before, after);
                                           if (now != seen && gone_ns >= long_run_ns) runs.push_back(gone_ns);
                                           seen = now;
                                         });
                                         switches += runtime_.usage().involuntary_switches;
                                       }));
    }
    for (const auto& thread : threads) thread->join();
    const double cpu_seconds = static_cast<double>(cpus_.all.size()) * nanoseconds_between(begin, end) / 1e9;
    std::size_t count = 0;
    for (const std::vector<double>& runs : long_runs) {
      count += runs.size();
      for (const double run : runs) samples.add(sampled::background_run, run);
    }
    if (count == 0) samples.cannot(sampled::background_run, "none was seen");
    samples.add(sampled::background, static_cast<double>(switches) / cpu_seconds);
    samples.add(sampled::background_long, static_cast<double>(count) / cpu_seconds);
  }

  std::vector<std::vector<Gap>> spin_together(unsigned count) {
    std::vector<std::vector<Gap>> gaps(count);
    std::vector<std::unique_ptr<Thread>> threads;
    // Spawning waits for the thread to be on the CPU, which takes slices of those that spin there already.
    const Instant end = verbs::clock_now() + count * time_;
    for (unsigned i = 0; i < count; ++i) {
      threads.push_back(runtime_.spawn({.name = "spinner", .cores = {cpus_.first}},
                                       [&gaps, i, end] { gaps[i] = gaps_until(end); }));
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
