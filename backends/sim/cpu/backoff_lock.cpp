#include "backends/sim/cpu/backoff_lock.hpp"

#include <algorithm>

#include "backends/sim/cpu/core.hpp"

namespace rkv::sim {

Next BackoffLock::Acquisition::step(Thread& thread) {
  const Ps now = thread.world().now();
  if (stage_ == Stage::begin) since_ = now;
  if (stage_ == Stage::spinning) std::erase(lock_.spinning_, &thread);
  if (lock_.owner_ == nullptr || lock_.owner_ == &thread) {
    lock_.owner_ = &thread;
    stage_ = Stage::begin;
    thread.world().spent().add(Spent::lock, now - since_);
    lock_.acquisitions_.give_back(*this);
    return Next::done();
  }
  if (stage_ == Stage::begin) {
    stage_ = Stage::spinning;
    lock_.spinning_.push_back(&thread);
    return Next::work_until(thread.progress() + spin);
  }
  if (stage_ == Stage::spinning) yields_ = 0;
  if (yields_ < yields) {
    ++yields_;
    stage_ = Stage::yielding;
    thread.core->yield();
    return Next::work_until(thread.progress() + yield);
  }
  stage_ = Stage::asleep;
  thread.set_timer(now + nap);
  return Next::sleep();
}

void BackoffLock::Acquisition::on_signal(Thread& thread) {
  if (stage_ == Stage::asleep) thread.wake_up();
}

void BackoffLock::on_event(std::uint64_t) {
  owner_ = nullptr;
  const auto next = std::find_if(spinning_.begin(), spinning_.end(), [](const Thread* thread) {
    return thread->state() == Thread::State::running;
  });
  if (next == spinning_.end()) return;
  Thread& thread = **next;
  owner_ = &thread;
  thread.settle();
  thread.retarget(thread.progress());
}

}  // namespace rkv::sim
