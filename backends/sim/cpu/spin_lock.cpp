#include "backends/sim/cpu/spin_lock.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/cpu/core.hpp"

namespace rkv::sim {
namespace {

bool has_cpu(const Thread* thread) {
  return thread->state() == Thread::State::running;
}

}  // namespace

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

void SpinLock::Acquisition::on_resumed(Thread& thread) {
  if (lock_.owner_ != nullptr) return;
  lock_.give_to(std::find(lock_.line_.begin(), lock_.line_.end(), &thread));
}

void SpinLock::give_to(std::deque<Thread*>::iterator next) {
  owner_ = *next;
  line_.erase(next);
  owner_->settle();
  const auto waiting = static_cast<std::size_t>(std::count_if(line_.begin(), line_.end(), has_cpu));
  owner_->retarget(owner_->progress() + take(*owner_, waiting));
}

void SpinLock::on_event(std::uint64_t) {
  owner_ = nullptr;
  const auto next = std::find_if(line_.begin(), line_.end(), has_cpu);
  if (next != line_.end()) give_to(next);
}

}  // namespace rkv::sim
