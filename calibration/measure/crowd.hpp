// Threads that sleep, to be woken one after the other, so that what waking takes is in the caches as it is in
// a run; and what that takes of a busy CPU. Header only.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "calibration/measure/asleep.hpp"
#include "calibration/measure/event.hpp"
#include "calibration/measure/sample.hpp"
#include "calibration/measure/stopwatch.hpp"

namespace rkv::calibration {

// Of one thread that wakes them.
class Crowd {
 public:
  static constexpr unsigned size = 16;
  static constexpr unsigned waits = 3;  // of each
  enum class Manner : std::uint8_t {
    eager,    // they take the CPU from who wakes them, or runs there
    patient,  // they do not: Linux never preempts for a thread of SCHED_BATCH (sched(7))
  };

  // Each of them calls wait(its number) as often.
  Crowd(int cpu, Manner manner, const std::function<void(unsigned)>& wait) {
    for (unsigned i = 0; i < size; ++i) {
      threads_.push_back(runtime_.spawn({.name = "sleeper", .cores = {cpu}}, [this, i, manner, wait] {
        if (manner == Manner::patient) {
          const sched_param none{};
          ::sched_setscheduler(0, SCHED_BATCH, &none);
        }
        sleepers_[i].is_this_thread();
        started_.count_down();
        for (unsigned n = 0; n < waits; ++n) {
          wait(i);
          woken_.fetch_add(1, std::memory_order_release);
        }
      }));
    }
    started_.wait();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() = default;

  // Waits for the end of all waits. Throws what one of them threw.
  void join() {
    for (const auto& thread : threads_) thread->join();
  }
  // Returns when all sleep.
  void await_sleep() const {
    std::this_thread::sleep_for(std::chrono::microseconds{200});  // for those of this CPU
    for (const Sleeper& sleeper : sleepers_) sleeper.await_sleep();
  }
  // Spins until so many waits are over, of all together, and a little longer.
  void await_woken(unsigned count) const {
    while (woken_.load(std::memory_order_acquire) < count) {
    }
    work_for(settling);
  }

 private:
  static constexpr Duration settling{20'000};  // it sleeps again by then

  std::latch started_{size};
  std::atomic<unsigned> woken_{0};
  std::array<Sleeper, size> sleepers_;
  verbs::ThreadRuntime runtime_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// A thread that keeps a CPU busy, and adds up what others take of it. It makes system calls all the time, as
// threads do that wait for events: on a virtual machine's CPU an interrupt takes more of who is in the kernel
// than of who is not.
class Caller {
 public:
  explicit Caller(int cpu)
      : thread_(runtime_.spawn({.name = "caller", .cores = {cpu}}, [this] {
          const double usual_ns = usual();
          Instant last = verbs::clock_now();
          while (!stop_.load(std::memory_order_relaxed)) {
            const double lost_ns = time_after(last) - usual_ns;
            if (lost_ns > least_ns && lost_ns < most_ns) lost_ns_.store(lost_ns_ + lost_ns);
          }
        })) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    stop_.store(true);
    thread_->join();
  }

  [[nodiscard]] double lost_ns() const { return lost_ns_.load(); }

 private:
  // More than its calls differ by; less than what other programs take.
  static constexpr double least_ns = 1'500;
  static constexpr double most_ns = 100'000;

  // Of its calls, since `last`, which becomes now.
  double time_after(Instant& last) const {
    event_.write();
    event_.read();
    const Instant now = verbs::clock_now();
    return nanoseconds_between(std::exchange(last, now), now);
  }
  [[nodiscard]] double usual() const {
    std::vector<double> times_ns(101);
    Instant last = verbs::clock_now();
    for (double& time_ns : times_ns) time_ns = time_after(last);
    return quantile(std::move(times_ns), 0.5);
  }

  const Event event_;
  std::atomic<bool> stop_{false};
  std::atomic<double> lost_ns_{0};
  verbs::ThreadRuntime runtime_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace rkv::calibration
