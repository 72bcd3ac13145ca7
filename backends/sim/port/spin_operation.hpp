// Polling without a pause: look at the sources in turn until one has something.
#pragma once

#include "backends/sim/port/wait_operation.hpp"

namespace rkv::sim {

class SpinOperation final : public WaitOperation {
 public:
  SpinOperation(SimWaitSet& set, std::span<Completion> out, const SpinBudget& budget, Instant deadline);
  Next step(Thread& thread) override;
  void on_signal(Thread& thread) override;

 private:
  enum class Stage : std::uint8_t { begin, searching, taking };

  // What the thread does next: goes on until it has taken from a source (taking), or until the budget or the
  // deadline ends it (searching). The latest plan holds.
  Ps plan(Thread& thread);

  // The next look at the order'th source, not before this progress.
  [[nodiscard]] Ps next_look(std::size_t order, Ps progress) const;
  // The next end of a scan, the first included.
  [[nodiscard]] Ps end_of_scan(Ps progress) const;

  Ps scan_ = 0;  // CPU time of one, finding nothing
  const SpinBudget allowed_;
  Ps budget_ = forever;  // CPU time
  Stage stage_ = Stage::begin;
  std::size_t taking_from_ = 0;
  Ps look_at_ = 0;  // where the look begins that takes; before it, another plan may be made
};

}  // namespace rkv::sim
