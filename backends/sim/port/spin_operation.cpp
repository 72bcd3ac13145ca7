#include "backends/sim/port/spin_operation.hpp"

#include <algorithm>

#include "backends/sim/cpu/poll_lock.hpp"

namespace rkv::sim {

SpinOperation::SpinOperation(SimWaitSet& set, std::span<Completion> out, const SpinBudget& budget,
                             Instant deadline)
    : WaitOperation(set, out, deadline), allowed_(budget) {}

Ps SpinOperation::look(std::size_t order) const {
  const Ps alone = source(order).costs().empty_look;
  const PollLock* lock = poll_lock(order);
  return lock == nullptr ? alone : lock->between_looks(alone);
}

Ps SpinOperation::scan() const {
  Ps all = 0;
  for (std::size_t order = 0; order < sources(); ++order) all += look(order);
  return all;
}

Ps SpinOperation::next_look(std::size_t order, Ps progress) const {
  Ps first = 0;
  for (std::size_t i = 0; i < order; ++i) first += look(i);
  if (progress <= first) return first;
  return first + (progress - first + scan_ - 1) / scan_ * scan_;
}

Ps SpinOperation::end_of_scan(Ps progress) const {
  return std::max((progress + scan_ - 1) / scan_ * scan_, scan_);
}

Ps SpinOperation::plan(Thread& thread) {
  const Ps progress = thread.progress();
  if (shared_) scan_ = scan();
  Ps until = budget_;
  if (overdue(thread)) until = std::min(until, end_of_scan(progress));
  stage_ = Stage::searching;
  for (std::size_t order = 0; order < sources(); ++order) {
    const PollLock* lock = poll_lock(order);
    if (!source(order).ready() || (lock != nullptr && lock->held())) continue;
    const Ps at = next_look(order, progress);
    if (at > until || (stage_ == Stage::taking && at == until)) continue;
    until = at;
    stage_ = Stage::taking;
    taking_from_ = order;
  }
  if (stage_ == Stage::searching) return until;
  look_at_ = until;
  const PollLock* lock = poll_lock(taking_from_);
  return until + source(taking_from_).take_cost(out_.size()) + (lock == nullptr ? 0 : lock->cost(thread));
}

Next SpinOperation::end(Thread& thread, const WaitResult& result) {
  for (std::size_t order = 0; shared_ && order < sources(); ++order) {
    if (PollLock* lock = poll_lock(order)) lock->leave();
  }
  return finish(thread, result);
}

Next SpinOperation::step(Thread& thread) {
  if (stage_ == Stage::begin) {
    begin_waiting(thread);
    for (std::size_t order = 0; order < sources(); ++order) {
      PollLock* lock = poll_lock(order);
      if (lock == nullptr) continue;
      lock->join();
      shared_ = true;
    }
    scan_ = scan();
    budget_ = std::min(budget_, to_ps(allowed_.cpu_time));
    if (allowed_.scans < static_cast<std::uint64_t>(forever / scan_)) {
      budget_ = std::min(budget_, static_cast<Ps>(allowed_.scans) * scan_);
    }
    budget_ = std::max(budget_, scan_);
    return Next::work_until(plan(thread));
  }
  if (stage_ == Stage::taking) {
    thread.world().spent().add(source(taking_from_).costs().spent, thread.progress() - look_at_);
    PollLock* lock = poll_lock(taking_from_);
    if (take(thread, taking_from_)) {
      if (lock != nullptr) lock->taken(thread);
      return end(thread, result_);
    }
    return Next::work_until(plan(thread));
  }
  const Ps progress = thread.progress();
  if (overdue(thread) && end_of_scan(progress) == progress) return end(thread, without_completion());
  if (progress >= budget_) {
    return end(thread, {.wake = Wake::budget, .source = 0, .count = 0});
  }
  return Next::work_until(plan(thread));
}

void SpinOperation::on_signal(Thread& thread) {
  if (stage_ == Stage::begin) return;
  thread.settle();
  if (in_look(thread)) return;
  thread.retarget(plan(thread));
}

void SpinOperation::on_preempted(Thread& thread) {
  for (std::size_t order = 0; shared_ && order < sources(); ++order) {
    PollLock* lock = poll_lock(order);
    const bool taking = in_look(thread) && taking_from_ == order;
    if (lock != nullptr && lock->lose_cpu(thread, taking)) source(order).look_again();
  }
}

void SpinOperation::on_resumed(Thread& thread) {
  for (std::size_t order = 0; shared_ && order < sources(); ++order) {
    PollLock* lock = poll_lock(order);
    if (lock != nullptr && lock->regain_cpu(thread)) source(order).look_again();
  }
}

}  // namespace rkv::sim
