// What spinning and blocking have in common: where they wait, until when, and how they end.
#pragma once

#include "backends/sim/port/sim_wait_set.hpp"

namespace rkv::sim {

class WaitOperation : public Operation {
 public:
  WaitOperation(SimWaitSet& set, std::span<Completion> out, Instant deadline)
      : set_(set), out_(out), deadline_(to_ps(deadline)) {}
  [[nodiscard]] const WaitResult& result() const { return result_; }

 protected:
  ~WaitOperation() = default;

  void begin_waiting(Thread& thread) {
    for (Source* source : set_.sources()) source->watch(thread);
    set_.stop().watch(thread);
    if (deadline_ < forever) thread.set_timer(deadline_);
  }
  Next finish(Thread& thread, const WaitResult& result) {
    for (Source* source : set_.sources()) source->forget(thread);
    set_.stop().forget(thread);
    if (deadline_ < forever) thread.set_timer(forever);
    result_ = result;
    return Next::done();
  }
  // Takes from the source that is `order`th. False when another thread was quicker.
  bool take(Thread& thread, std::size_t order) {
    const std::size_t index = set_.in_order(order);
    const std::uint32_t count = set_.sources()[index]->take(thread, out_);
    if (count == 0) return false;
    result_ = {.wake = Wake::completions, .source = static_cast<std::uint32_t>(index), .count = count};
    set_.begin_behind(index);
    return true;
  }
  [[nodiscard]] Source& source(std::size_t order) const { return *set_.sources()[set_.in_order(order)]; }
  [[nodiscard]] std::size_t sources() const { return set_.sources().size(); }
  [[nodiscard]] bool overdue(const Thread& thread) const {
    return set_.stop().requested() || thread.world().now() >= deadline_;
  }
  [[nodiscard]] WaitResult without_completion() const {
    return {.wake = set_.stop().requested() ? Wake::stopped : Wake::deadline, .source = 0, .count = 0};
  }
  SimWaitSet& set_;
  const std::span<Completion> out_;
  const Ps deadline_;
  WaitResult result_;
};

}  // namespace rkv::sim
