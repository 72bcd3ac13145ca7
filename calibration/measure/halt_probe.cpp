// Waking a thread of a CPU so long after that became idle: before it halts, its idle loop sees the thread by
// itself, and the waker interrupts nothing (Linux: TIF_POLLING_NRFLAG). On a virtual machine, where each
// setting of a timer leaves the machine, the way into halting takes long once Linux stops the tick there, and
// so does the way back. It does not stop it at first: for 20 to 80 ms after a thread has been made, waking it
// cost 11 to 17 us at once in six of six turns, and 0.8 to 1.2 us then (by a program that was not kept).
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "backends/verbs/port/clock.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/halting.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/sample.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"

namespace rkv::calibration {
namespace {

// After the thread is about to sleep, which it does within the first.
constexpr std::array<Duration, 13> pauses{
    Duration{2'000},  Duration{3'000},  Duration{4'000},  Duration{6'000},  Duration{8'000},
    Duration{10'000}, Duration{12'000}, Duration{14'000}, Duration{16'000}, Duration{18'000},
    Duration{20'000}, Duration{24'000}, Duration{28'000}};
constexpr unsigned rounds = 12;
constexpr Duration until_tick_stops{150'000'000};

class HaltProbe final : public Probe {
 public:
  explicit HaltProbe(int other_cpu) : other_cpu_(other_cpu) {}
  [[nodiscard]] std::string_view name() const override { return "idle CPUs"; }
  [[nodiscard]] unsigned every() const override { return 4; }

  void repeat(Samples& samples) override {
    over_ = false;
    std::array<std::vector<double>, pauses.size()> writes_ns;
    std::array<std::vector<double>, pauses.size()> until_read_ns;
    run_two(
        other_cpu_,
        [&](Turns& turns) {
          const Instant settled = verbs::clock_now() + until_tick_stops;
          while (verbs::clock_now() < settled) static_cast<void>(wake_after(pauses.back(), turns));
          for (unsigned round = 0; round < rounds; ++round) {
            for (std::size_t i = 0; i < pauses.size(); ++i) {
              const Wake wake = wake_after(pauses[i], turns);
              writes_ns[i].push_back(wake.write_ns);
              until_read_ns[i].push_back(wake.until_read_ns);
            }
          }
          over_ = true;
          turns.pass(Turns::Side::here);
        },
        [&](Turns& turns) {
          for (;;) {
            turns.await(Turns::Side::there);
            if (over_) return;
            about_to_sleep_.store(verbs::clock_now(), std::memory_order_release);
            event_.read();
            has_read_ = verbs::clock_now();
            turns.pass(Turns::Side::there);
          }
        });
    std::array<double, pauses.size()> typical_ns;
    for (std::size_t i = 0; i < pauses.size(); ++i) typical_ns[i] = quantile(writes_ns[i], 0.5);
    const auto halted = first_halted(typical_ns);
    if (!halted || *halted == 0) {
      for (const char* name : {sampled::halts_after, sampled::read_before_halt})
        samples.cannot(name, "waking a thread costs as much when its CPU has just become idle as later");
      return;
    }
    const Duration between = (pauses[*halted - 1] + pauses[*halted]) / 2;
    samples.add(sampled::halts_after, static_cast<double>(between.count()));
    std::vector<double> early_ns;
    for (std::size_t i = 0; i < *halted; ++i)
      early_ns.insert(early_ns.end(), until_read_ns[i].begin(), until_read_ns[i].end());
    samples.add(sampled::read_before_halt, quantile(std::move(early_ns), 0.5));
  }

 private:
  struct Wake {
    double write_ns;
    double until_read_ns;  // since it was about to sleep
  };

  Wake wake_after(Duration pause, Turns& turns) {
    about_to_sleep_.store(Instant{}, std::memory_order_relaxed);
    turns.pass(Turns::Side::here);
    Instant asleep;
    while ((asleep = about_to_sleep_.load(std::memory_order_acquire)) == Instant{}) {
    }
    while (verbs::clock_now() < asleep + pause) {
    }
    const double write_ns = timed([&] { event_.write(); });
    turns.await(Turns::Side::here);
    return {write_ns, nanoseconds_between(asleep, has_read_)};
  }

  int other_cpu_;
  Event event_;
  std::atomic<Instant> about_to_sleep_{Instant{}};
  // Theirs whose turn it is.
  Instant has_read_{};
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Probe> make_halt_probe(const Bench& bench, Samples& samples) {
  if (bench.machine.cpus.second) return std::make_unique<HaltProbe>(*bench.machine.cpus.second);
  for (const char* name : {sampled::halts_after, sampled::read_before_halt})
    samples.cannot(name, one_cpu_only);
  return nullptr;
}

}  // namespace rkv::calibration
