#include "backends/sim/port/block_operation.hpp"

#include <algorithm>

#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {

Next BlockOperation::spend(Thread& thread, Ps work, Spent where, Stage then) {
  stage_ = then;
  thread.world().spent().add(where, work);
  return Next::work_until(thread.progress() + work);
}

Next BlockOperation::look(Thread& thread) {
  Ps cost = 0;
  if (!slept_) {  // else the call that slept has told
    cost = sources() == 1 ? source(0).blocking_overhead() : source(0).multiplexing_overhead();
  }
  for (std::size_t order = 0; order < sources(); ++order) {
    if (source(order).ready()) {
      taking_from_ = order;
      stage_ = Stage::taking;
      return Next::work_until(thread.progress() + cost + take_cost(thread, source(order)));
    }
    cost += source(order).costs().blocking_look;
  }
  return spend(thread, cost, Spent::poll, Stage::looked);
}

bool BlockOperation::any_event() const {
  for (std::size_t order = 0; order < sources(); ++order) {
    if (source(order).event_pending()) return true;
  }
  return false;
}

Next BlockOperation::take_events(Thread& thread) {
  Ps cost = 0;
  for (std::size_t order = 0; order < sources(); ++order) {
    Source& from = source(order);
    if (!from.event_pending()) continue;
    from.take_event();
    cost += from.costs().event;
  }
  return spend(thread, cost, Spent::poll, Stage::took_events);
}

Next BlockOperation::step(Thread& thread) {
  for (;;) {
    switch (stage_) {
      case Stage::begin:
        begin_waiting(thread);
        return look(thread);
      case Stage::taking:
        if (take(taking_from_)) return finish(thread, result_);
        return look(thread);
      case Stage::looked: {
        Ps arming = 0;
        Ps falling_asleep = 0;
        bool all_armed = true;
        for (std::size_t order = 0; order < sources(); ++order) {
          if (source(order).ready()) return look(thread);
          falling_asleep = std::max(falling_asleep, source(order).costs().fall_asleep);
          if (!source(order).needs_arming()) continue;
          all_armed = false;
          arming += source(order).costs().arm;
        }
        if (overdue(thread)) return finish(thread, without_completion());
        if (!all_armed) return spend(thread, arming, Spent::post, Stage::armed);
        return spend(thread, falling_asleep, Spent::kernel, Stage::falling_asleep);
      }
      case Stage::armed:
      case Stage::took_events:
        for (std::size_t order = 0; order < sources(); ++order) {
          if (source(order).needs_arming()) source(order).arm();
        }
        return look(thread);
      case Stage::falling_asleep:
      case Stage::asleep:
        if (any_event()) return take_events(thread);
        if (overdue(thread) || stage_ == Stage::asleep) return look(thread);
        stage_ = Stage::asleep;
        slept_ = true;
        return Next::sleep();
    }
  }
}

void BlockOperation::on_signal(Thread& thread) {
  thread.wake_up();
}

}  // namespace rkv::sim
