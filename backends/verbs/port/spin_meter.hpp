// What a spin has used of its budget and of its time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/verbs/port/clock.hpp"
#include "core/port/wait.hpp"

namespace rkv::verbs {

// Counts scans, and looks at the clock after the first and then after every so much polling, so that its 20
// ns vanish beside it.
//
// CPU time is the sum of the times between two looks at the clock, which lie about a microsecond apart. A
// longer gap than preemption_gap means that the thread did not run in between; it counts as preemption_gap.
// Asking the operating system instead would be a system call each time.
class SpinMeter {
 public:
  static constexpr Duration preemption_gap = std::chrono::microseconds{50};

  // `scan_cost`: what one scan costs, in polls of an empty completion queue.
  SpinMeter(const SpinBudget& budget, Instant deadline, std::uint32_t scan_cost)
      : budget_(budget),
        deadline_(deadline),
        scan_cost_(std::max(scan_cost, 1U)),
        timed_(deadline != never || budget.cpu_time != Duration::max()) {
    if (timed_ && budget.cpu_time != Duration::max()) last_look_ = clock_now();
  }

  // After each scan that found nothing: true when the spin must end, and why().
  [[nodiscard]] bool spent() {
    ++scans_;
    if (scans_ >= budget_.scans) {
      why_ = Wake::budget;
      // A deadline that passed as well is the stronger reason, since waiting on would be no use.
      if (deadline_ != never && clock_now() >= deadline_) why_ = Wake::deadline;
      return true;
    }
    if (!timed_) return false;
    polls_until_look_ -= scan_cost_;
    return polls_until_look_ <= 0 && look_at_clock();
  }
  [[nodiscard]] Wake why() const { return why_; }

 private:
  static constexpr std::int64_t polls_between_looks = 32;

  bool look_at_clock() {
    polls_until_look_ = polls_between_looks;
    const Instant now = clock_now();
    if (now >= deadline_) {
      why_ = Wake::deadline;
      return true;
    }
    if (budget_.cpu_time == Duration::max()) return false;
    used_ += std::min(now - last_look_, preemption_gap);
    last_look_ = now;
    why_ = Wake::budget;
    return used_ >= budget_.cpu_time;
  }

  const SpinBudget& budget_;
  Instant deadline_;
  std::int64_t scan_cost_;
  bool timed_;
  std::int64_t polls_until_look_ = 0;
  std::uint64_t scans_ = 0;
  Duration used_{0};
  Instant last_look_{};
  Wake why_ = Wake::budget;
};

}  // namespace rkv::verbs
