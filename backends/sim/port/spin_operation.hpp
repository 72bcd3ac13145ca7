// Polling without a pause: look at the sources in turn until one has something.
#pragma once

#include "backends/sim/port/wait_operation.hpp"

namespace rkv::sim {

class SpinOperation final : public WaitOperation {
 public:
  SpinOperation(SimWaitSet& set, std::span<Completion> out, const SpinBudget& budget, Instant deadline);
  Next step(Thread& thread) override;
  void on_signal(Thread& thread) override;
  void on_preempted(Thread& thread) override;
  void on_resumed(Thread& thread) override;

 private:
  enum class Stage : std::uint8_t { begin, searching, taking };

  // What the thread does next: goes on until it has taken from a source (taking), or until the budget or the
  // deadline ends it (searching). The latest plan holds.
  Ps plan(Thread& thread);

  // It is over.
  Next end(Thread& thread, const WaitResult& result);
  [[nodiscard]] bool in_look(const Thread& thread) const {
    return stage_ == Stage::taking && thread.progress() >= look_at_;
  }
  // A single look takes the source's other lock (SimWaitSet::spin()).
  [[nodiscard]] PollLock* poll_lock(std::size_t order) const {
    return allowed_.scans == 1 ? nullptr : source(order).poll_lock();
  }
  // CPU time of a look at the order'th source that finds nothing, and of one at each.
  [[nodiscard]] Ps look(std::size_t order) const;
  [[nodiscard]] Ps scan() const;

  // The next look at the order'th source, not before this progress.
  [[nodiscard]] Ps next_look(std::size_t order, Ps progress) const;
  // The next end of a scan, the first included.
  [[nodiscard]] Ps end_of_scan(Ps progress) const;

  bool shared_ = false;  // a source is polled by others, perhaps
  Ps scan_ = 0;          // scan(), as it was last
  const SpinBudget allowed_;
  Ps budget_ = forever;  // CPU time
  Stage stage_ = Stage::begin;
  std::size_t taking_from_ = 0;
  Ps look_at_ = 0;  // where the look begins that takes; before it, another plan may be made
};

}  // namespace rkv::sim
