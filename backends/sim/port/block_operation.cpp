#include "backends/sim/port/block_operation.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {

Next BlockOperation::spend(Thread& thread, Ps work, Spent where, Stage then) {
  stage_ = then;
  thread.world().spent().add(where, work);
  return Next::work_until(thread.progress() + work);
}

Next BlockOperation::begin(Thread& thread) {
  using First = SimWaitSet::First;
  if (overdue(thread)) return look(thread, 0);
  switch (first_) {
    case First::look:
      break;
    case First::arm:
      return spend(thread, source(0).costs().arm, Spent::post, Stage::armed);
    case First::sleep:
      return spend(thread, source(0).costs().fall_asleep + setting_timer(thread), Spent::kernel,
                   Stage::falling_asleep);
  }
  return look(thread, 0);
}

Next BlockOperation::look(Thread& thread, Ps before) {
  Ps cost = before;
  if (!slept_) {  // else the call that slept has told
    cost += sources() == 1 ? source(0).blocking_overhead() : source(0).multiplexing_overhead();
  }
  bool all_armed = true;
  Ps falling_asleep = 0;
  for (std::size_t order = 0; order < sources(); ++order) {
    const Source& at = source(order);
    if (at.ready()) {
      taking_from_ = order;
      cost += std::exchange(thread.gone, 0);
      return spend(thread, cost + at.take_cost(out_.size()), at.costs().spent, Stage::taking);
    }
    cost += at.costs().blocking_look;
    all_armed = all_armed && !at.needs_arming();
    falling_asleep = std::max(falling_asleep, at.costs().fall_asleep);
  }
  if (!all_armed || overdue(thread)) return spend(thread, cost, Spent::poll, Stage::looked);
  // What comes from here on makes an event, which is looked at before the thread sleeps.
  return spend(thread, cost + falling_asleep + setting_timer(thread), Spent::kernel, Stage::falling_asleep);
}

Ps BlockOperation::setting_timer(const Thread& thread) {
  if (deadline_ == forever) return 0;
  const SchedulerProfile& os = thread.host().costs().scheduler;
  timer_ = (os.timed_sleep + (thread.core->has_sleep_timer() ? os.timed_sleep_among : 0)) / 2;
  return timer_;
}

Next BlockOperation::sleep(Thread& thread) {
  stage_ = Stage::asleep;
  slept_ = true;
  thread.looks_first = true;
  if (deadline_ != forever) {
    timer_on_ = thread.core;
    timer_on_->set_sleep_timer();
  }
  return Next::sleep();
}

bool BlockOperation::any_event() const {
  for (std::size_t order = 0; order < sources(); ++order) {
    if (source(order).event_pending()) return true;
  }
  return false;
}

Next BlockOperation::take_events(Thread& thread, Ps before) {
  Ps cost = before;
  for (std::size_t order = 0; order < sources(); ++order) {
    Source& from = source(order);
    if (!from.event_pending()) continue;
    from.take_event();
    cost += from.costs().event;
    if (from.needs_arming()) from.arm();
  }
  return look(thread, cost);
}

bool BlockOperation::leaves_rest(const Source& from) const {
  const bool emptied = set_.sources()[result_.source] == &from && result_.count < out_.size();
  return !emptied && from.ready() && from.watcher_sleeps();
}

// As rkv-real does: it takes one more completion, keeps it for the thread that it wakes, and writes an
// eventfd.
Next BlockOperation::pass_on_rests(Thread& thread) {
  const SchedulerProfile& os = thread.host().costs().scheduler;
  Ps cost = 0;
  for (const Source* from : set_.sources()) {
    if (leaves_rest(*from)) cost += from->take_cost(1) + os.syscall + os.wake_cost;
  }
  return cost == 0 ? finish(thread, result_) : spend(thread, cost, Spent::kernel, Stage::passing_on);
}

Next BlockOperation::step(Thread& thread) {
  for (;;) {
    switch (stage_) {
      case Stage::begin:
        begin_waiting(thread);
        return begin(thread);
      case Stage::taking:
        return take(thread, taking_from_) ? pass_on_rests(thread) : look(thread, 0);
      case Stage::passing_on:
        thread.world().set_cause(&thread);
        for (Source* from : set_.sources()) {
          if (leaves_rest(*from)) from->wake_one();
        }
        thread.world().set_cause(nullptr);
        return finish(thread, result_);
      case Stage::looked: {
        Ps arming = 0;
        for (std::size_t order = 0; order < sources(); ++order) {
          if (source(order).ready()) return look(thread, 0);
          if (source(order).needs_arming()) arming += source(order).costs().arm;
        }
        if (overdue(thread)) return finish(thread, without_completion());
        return spend(thread, arming, Spent::post, Stage::armed);
      }
      case Stage::armed:
        for (std::size_t order = 0; order < sources(); ++order) {
          if (source(order).needs_arming()) source(order).arm();
        }
        return look(thread, 0);
      case Stage::falling_asleep:
        if (any_event()) return take_events(thread, 0);
        return overdue(thread) ? look(thread, 0) : sleep(thread);
      case Stage::asleep:
        if (timer_on_ != nullptr) timer_on_->take_back_sleep_timer();
        return any_event() ? take_events(thread, timer_) : look(thread, timer_);
    }
  }
}

void BlockOperation::on_signal(Thread& thread) {
  thread.wake_up();
}

}  // namespace rkv::sim
