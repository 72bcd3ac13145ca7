#include "backends/sim/port/spin_operation.hpp"

#include <algorithm>

namespace rkv::sim {

SpinOperation::SpinOperation(SimWaitSet& set, std::span<Completion> out, const SpinBudget& budget,
                             Instant deadline)
    : WaitOperation(set, out, deadline), allowed_(budget) {}

Ps SpinOperation::next_look(std::size_t order, Ps progress) const {
  Ps first = 0;
  for (std::size_t i = 0; i < order; ++i) first += source(i).costs().empty_look;
  if (progress <= first) return first;
  return first + (progress - first + scan_ - 1) / scan_ * scan_;
}

Ps SpinOperation::end_of_scan(Ps progress) const {
  return std::max((progress + scan_ - 1) / scan_ * scan_, scan_);
}

Ps SpinOperation::plan(Thread& thread) {
  const Ps progress = thread.progress();
  Ps until = budget_;
  if (overdue(thread)) until = std::min(until, end_of_scan(progress));
  stage_ = Stage::searching;
  for (std::size_t order = 0; order < sources(); ++order) {
    if (!source(order).ready()) continue;
    const Ps look = next_look(order, progress);
    if (look > until || (stage_ == Stage::taking && look == until)) continue;
    until = look;
    stage_ = Stage::taking;
    taking_from_ = order;
  }
  if (stage_ == Stage::searching) return until;
  look_at_ = until;
  return until + source(taking_from_).take_cost(out_.size());
}

Next SpinOperation::step(Thread& thread) {
  if (stage_ == Stage::begin) {
    begin_waiting(thread);
    for (std::size_t order = 0; order < sources(); ++order) scan_ += source(order).costs().empty_look;
    budget_ = std::min(budget_, to_ps(allowed_.cpu_time));
    if (allowed_.scans < static_cast<std::uint64_t>(forever / scan_)) {
      budget_ = std::min(budget_, static_cast<Ps>(allowed_.scans) * scan_);
    }
    budget_ = std::max(budget_, scan_);
    return Next::work_until(plan(thread));
  }
  if (stage_ == Stage::taking) {
    thread.world().spent().add(source(taking_from_).costs().spent, thread.progress() - look_at_);
    if (take(taking_from_)) return finish(thread, result_);
    return Next::work_until(plan(thread));
  }
  const Ps progress = thread.progress();
  if (overdue(thread) && end_of_scan(progress) == progress) return finish(thread, without_completion());
  if (progress >= budget_) {
    return finish(thread, {.wake = Wake::budget, .source = 0, .count = 0});
  }
  return Next::work_until(plan(thread));
}

void SpinOperation::on_signal(Thread& thread) {
  if (stage_ == Stage::begin) return;
  thread.settle();
  if (stage_ == Stage::taking && thread.progress() >= look_at_) return;
  thread.retarget(plan(thread));
}

}  // namespace rkv::sim
