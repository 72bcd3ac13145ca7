// Waking threads of the own CPU, and of another one that is busy. On another idle CPU: kernel_probe.cpp.
#include <algorithm>
#include <latch>
#include <memory>
#include <vector>

#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/asleep.hpp"
#include "calibration/measure/batch.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned wake_ups = 20;
// As many pairs that neither CPU ever waits for the other, each long enough that starting them is little.
constexpr unsigned few_pairs = 8;
constexpr unsigned many_pairs = few_pairs << sampled::crowded_doublings;
constexpr unsigned all_rounds = 8000;

class WakeProbe final : public Probe {
 public:
  explicit WakeProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}
  [[nodiscard]] std::string_view name() const override { return "wake-ups"; }
  [[nodiscard]] unsigned every() const override { return 2; }

  void repeat(Samples& samples) override {
    wake_on_own_cpu(samples);
    samples.add(sampled::wake_together, wake_ns(few_pairs, cpus_.first));
    samples.add(sampled::wake_crowded, wake_ns(many_pairs, cpus_.first));
    if (cpus_.second)
      samples.add(sampled::wake_apart, 2 * wake_ns(few_pairs, *cpus_.second));  // both are busy
  }

 private:
  void wake_on_own_cpu(Samples& samples) {
    Timings timings;
    Event event;
    Sleeper sleeper;
    const auto thread = runtime_.spawn({.name = "sleeper", .cores = {cpus_.first}}, [&] {
      let_others_go_on();
      sleeper.is_this_thread();
      for (unsigned i = 0; i < wake_ups; ++i) event.read();
    });
    for (unsigned i = 0; i < wake_ups; ++i) {
      let_it_sleep(sleeper);
      timings.time(sampled::wake_write_here, [&] { event.write(); });
    }
    thread->join();
    timings.medians_to(samples);
  }

  // Time a wake-up while `pairs` of threads, one of each on the first CPU and one on that one, wake each
  // other by turns.
  double wake_ns(unsigned pairs, int other_cpu) {
    const unsigned rounds = all_rounds / pairs;
    std::vector<Event> to_here(pairs);
    std::vector<Event> to_there(pairs);
    // Threads that end would take their time from the others'.
    std::latch done(static_cast<std::ptrdiff_t>(2) * pairs);
    std::vector<Instant> ends(pairs);
    std::vector<std::unique_ptr<Thread>> threads;
    for (unsigned i = 0; i < pairs; ++i) {
      threads.push_back(runtime_.spawn({.name = "there", .cores = {other_cpu}}, [&, i] {
        for (unsigned round = 0; round < rounds; ++round) {
          to_there[i].read();
          to_here[i].write();
        }
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
        done.arrive_and_wait();
      }));
    }
    const Instant start = verbs::clock_now();
    for (const Event& event : to_here) event.write();
    for (const auto& thread : threads) thread->join();
    return nanoseconds_between(start, *std::max_element(ends.begin(), ends.end())) / (2.0 * pairs * rounds);
  }

  MeasuredCpus cpus_;
  verbs::ThreadRuntime runtime_;
};

}  // namespace

std::unique_ptr<Probe> make_wake_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) samples.cannot(sampled::wake_apart, one_cpu_only);
  return std::make_unique<WakeProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
