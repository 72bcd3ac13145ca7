#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

#include "calibration/measure/asleep.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/names.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/stopwatch.hpp"
#include "calibration/measure/turns.hpp"

namespace rkv::calibration {
namespace {

constexpr unsigned calls = 300;
constexpr unsigned wake_ups_a_sample = 10;

class Futex {
 public:
  void wait() {
    while (word_.load(std::memory_order_acquire) == 0) call(FUTEX_WAIT_PRIVATE, 0);
    word_.store(0, std::memory_order_relaxed);
  }
  void wake() {
    word_.store(1, std::memory_order_release);
    call(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void call(int operation, int value) { ::syscall(SYS_futex, &word_, operation, value, nullptr, nullptr, 0); }
  std::atomic<std::uint32_t> word_{0};
};

class KernelProbe final : public Probe {
 public:
  explicit KernelProbe(const MeasuredCpus& cpus) : cpus_(cpus) {}
  [[nodiscard]] std::string_view name() const override { return "kernel"; }

  void repeat(Samples& samples) override {
    samples.add(sampled::system_call, each_of(calls, [] { ::syscall(SYS_getppid); }));
    samples.add(sampled::event_write, each_of(calls, [&] { event_.write(); }));
    event_.read();
    Timings reading;
    for (unsigned i = 0; i < calls; ++i) {
      event_.write();
      reading.time(sampled::event_read, [&] { event_.read(); });
    }
    reading.medians_to(samples);
    if (cpus_.second) wake_on_another_cpu(samples);
  }

 private:
  void wake_on_another_cpu(Samples& samples) {
    using Side = Turns::Side;
    Timings timings;
    Sleeper sleeper;
    Instant woken;
    run_two(
        *cpus_.second,
        [&](Turns& turns) {
          turns.pass(Side::here);  // the sleeper tells who it is
          turns.await(Side::here);
          for (unsigned i = 0; i < wake_ups_a_sample; ++i) {
            turns.pass(Side::here);
            sleeper.await_sleep();
            const Instant start = verbs::clock_now();
            event_.write();
            const Instant written = verbs::clock_now();
            turns.await(Side::here);
            timings.add(sampled::wake_write, nanoseconds_between(start, written));
            timings.add(sampled::wake_event, nanoseconds_between(start, woken));
            turns.pass(Side::here);
            sleeper.await_sleep();
            const Instant before = verbs::clock_now();
            futex_.wake();
            turns.await(Side::here);
            timings.add(sampled::wake_futex, nanoseconds_between(before, woken));
          }
        },
        [&](Turns& turns) {
          turns.await(Side::there);
          sleeper.is_this_thread();
          turns.pass(Side::there);
          for (unsigned i = 0; i < wake_ups_a_sample; ++i) {
            turns.await(Side::there);
            event_.read();
            woken = verbs::clock_now();
            turns.pass(Side::there);
            turns.await(Side::there);
            futex_.wait();
            woken = verbs::clock_now();
            turns.pass(Side::there);
          }
        });
    timings.medians_to(samples);
  }

  MeasuredCpus cpus_;
  Event event_;
  Futex futex_;
};

}  // namespace

std::unique_ptr<Probe> make_kernel_probe(const Bench& bench, Samples& samples) {
  if (!bench.machine.cpus.second) {
    for (const char* name : {sampled::wake_write, sampled::wake_event, sampled::wake_futex}) {
      samples.cannot(name, one_cpu_only);
    }
  }
  return std::make_unique<KernelProbe>(bench.machine.cpus);
}

}  // namespace rkv::calibration
