#include "backends/sim/cpu/spin_lock.hpp"

#include <utility>

#include "backends/sim/cpu/core.hpp"

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
  return Next::work_until(thread.progress() + lock_.take(thread, 0));
}

Ps SpinLock::take(Thread& thread, std::size_t waiting) {
  const Thread* const last = std::exchange(last_, &thread);
  const std::uint32_t socket = thread.core->socket();
  const std::uint32_t last_socket = std::exchange(last_socket_, socket);
  if (last == nullptr || last == &thread) return 0;
  return costs_.cost(waiting, socket != last_socket);
}

void SpinLock::on_event(std::uint64_t) {
  owner_ = nullptr;
  if (line_.empty()) return;
  owner_ = line_.front();
  line_.pop_front();
  owner_->settle();
  owner_->retarget(owner_->progress() + take(*owner_, line_.size()));
}

}  // namespace rkv::sim
