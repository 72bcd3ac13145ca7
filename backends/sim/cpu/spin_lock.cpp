#include "backends/sim/cpu/spin_lock.hpp"

#include <utility>

namespace rkv::sim {

Next SpinLock::Acquisition::step(Thread& thread) {
  if (stage_ == Stage::taking) {
    stage_ = Stage::begin;
    thread.world().spent().add(Spent::lock, thread.progress() - since_);
    lock_.acquisitions_.give_back(*this);
    return Next::done();
  }
  stage_ = Stage::taking;
  since_ = thread.progress();
  if (lock_.owner_ != nullptr) {
    lock_.line_.push_back(&thread);
    return Next::work_until(forever);
  }
  lock_.owner_ = &thread;
  const Thread* const last = std::exchange(lock_.last_, &thread);
  const bool elsewhere = last != nullptr && last != &thread;
  return Next::work_until(thread.progress() + (elsewhere ? lock_.costs_.hand_over : 0));
}

void SpinLock::on_event(std::uint64_t) {
  owner_ = nullptr;
  if (line_.empty()) return;
  owner_ = line_.front();
  line_.pop_front();
  last_ = owner_;
  owner_->settle();
  owner_->retarget(owner_->progress() + costs_.hand_over + static_cast<Ps>(line_.size()) * costs_.a_waiter);
}

}  // namespace rkv::sim
