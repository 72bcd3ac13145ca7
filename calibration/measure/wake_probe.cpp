// Waking threads of the own CPU, and of another one that is busy. On another idle CPU: kernel_probe.cpp.
#include <algorithm>
#include <array>
#include <latch>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/crowd.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

// As many pairs that neither CPU ever waits for the other, each long enough that starting them is little.
constexpr unsigned few_pairs = 1U << sampled::few_doublings;
constexpr unsigned many_pairs = few_pairs << sampled::crowded_doublings;
constexpr unsigned all_rounds = 8000;

class WakeProbe final : public Probe {
 public:
  explicit WakeProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}
  [[nodiscard]] std::string_view name() const override { return "wake-ups"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    Timings timings;
    wake_patient(cpus_.first, sampled::wake_write_here, timings);
    wake_eager(cpus_.first, [&](const auto& wake) { timings.time(sampled::wake_preempting_here, wake); });
    if (cpus_.second) {
      const Spinner spinner(*cpus_.second);
      wake_patient(*cpus_.second, sampled::wake_write_busy, timings);
      double lost_ns = 0;  // what a wake-up took of that CPU is known by the next one
      wake_eager(*cpus_.second, [&](const auto& wake) {
        const double before_ns = std::exchange(lost_ns, spinner.lost_ns());
        if (before_ns > 0) timings.add(sampled::lost_to_wake, lost_ns - before_ns);
        timings.time(sampled::wake_preempting, wake);
      });
    }
    timings.medians_to(samples);
    samples.add(sampled::wake_together, pairs(few_pairs, cpus_.first).wake_ns);
    samples.add(sampled::wake_crowded, pairs(many_pairs, cpus_.first).wake_ns);
    if (!cpus_.second) return;
    const Pairs apart = pairs(few_pairs, *cpus_.second);
    samples.add(sampled::wake_apart, 2 * apart.wake_ns);  // both CPUs are busy
    samples.add(sampled::preempts_apart, apart.preempts);
  }

 private:
  void wake_patient(int cpu, const char* sample, Timings& timings) {
    std::array<Event, Crowd::size> to_crowd;
    Crowd crowd(cpu, Crowd::Manner::patient, [&](unsigned i) { to_crowd[i].read(); });
    for (unsigned n = 0; n < Crowd::waits; ++n) {
      crowd.await_sleep();
      for (const Event& event : to_crowd) timings.time(sample, [&] { event.write(); });
    }
    crowd.join();
  }

  // The next one when the last has been awake: by time(), which is given what wakes it.
  template <typename Time>
  void wake_eager(int cpu, const Time& time) {
    std::array<Event, Crowd::size> to_crowd;
    Crowd crowd(cpu, Crowd::Manner::eager, [&](unsigned i) { to_crowd[i].read(); });
    unsigned written = 0;
    for (unsigned n = 0; n < Crowd::waits; ++n) {
      crowd.await_sleep();
      for (const Event& event : to_crowd) {
        time([&] { event.write(); });
        crowd.await_woken(++written);
      }
    }
    crowd.join();
  }

  // Of pairs of threads that wake each other by turns, one of each on the first CPU and one on another, each
  // wake-up's.
  struct Pairs {
    double wake_ns;   // time
    double preempts;  // threads that lost their CPU
  };

  Pairs pairs(unsigned pairs, int other_cpu) {
    const unsigned rounds = all_rounds / pairs;
    std::vector<Event> to_here(pairs);
    std::vector<Event> to_there(pairs);
    // Threads that end would take their time from the others'.
    std::latch done(static_cast<std::ptrdiff_t>(2) * pairs);
    std::vector<Instant> ends(pairs);
    std::vector<double> preempts(std::size_t{2} * pairs);
    std::vector<std::unique_ptr<Thread>> threads;
    for (unsigned i = 0; i < pairs; ++i) {
      threads.push_back(runtime_.spawn({.name = "there", .cores = {other_cpu}}, [&, i] {
        for (unsigned round = 0; round < rounds; ++round) {
          to_there[i].read();
          to_here[i].write();
        }
        preempts[pairs + i] = static_cast<double>(runtime_.usage().involuntary_switches);
        done.arrive_and_wait();
      }));
    }
    for (unsigned i = 0; i < pairs; ++i) {
      threads.push_back(runtime_.spawn({.name = "here", .cores = {cpus_.first}}, [&, i] {
        to_here[i].read();
        for (unsigned round = 0; round < rounds; ++round) {
          to_there[i].write();
          to_here[i].read();
        }
        ends[i] = verbs::clock_now();
        preempts[i] = static_cast<double>(runtime_.usage().involuntary_switches);
        done.arrive_and_wait();
      }));
    }
    const Instant start = verbs::clock_now();
    for (const Event& event : to_here) event.write();
    for (const auto& thread : threads) thread->join();
    const double wake_ups = 2.0 * pairs * rounds;
    return {nanoseconds_between(start, *std::max_element(ends.begin(), ends.end())) / wake_ups,
            std::accumulate(preempts.begin(), preempts.end(), 0.0) / wake_ups};
  }

  MeasuredCpus cpus_;
  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_wake_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) {
    for (const char* name : {sampled::wake_write_busy, sampled::wake_preempting, sampled::lost_to_wake,
                             sampled::wake_apart, sampled::preempts_apart}) {
      samples.cannot(name, one_cpu_only);
    }
  }
  return std::make_unique<WakeProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
