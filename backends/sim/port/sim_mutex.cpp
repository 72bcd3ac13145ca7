#include "backends/sim/port/sim_mutex.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {
namespace {

constexpr Ps time_of_trying = 50'000'000;  // before the kernel finds the lock held all the time

}  // namespace

SimMutex::~SimMutex() {
  if (recorded_ > 0) world_.current()->flush();
}

Next SimMutex::Acquisition::step(Thread& thread) {
  SimMutex& mutex = *mutex_;
  if (stage_ == Stage::taken) return Next::done();
  if (stage_ == Stage::begin) {
    waits_since_ = thread.world().now();
  } else if (stage_ == Stage::trying) {
    std::erase(mutex.triers_, &thread);
  }
  const Ps cost = mutex.touch(thread);
  if (mutex.owner_ != nullptr) {
    mutex.wanted_ = true;
    if (stage_ == Stage::trying) {
      stage_ = Stage::asleep;
      mutex.sleepers_.push_back(&thread);
      return Next::sleep();
    }
    stage_ = Stage::trying;
    mutex.triers_.push_back(&thread);
    return Next::work_until(thread.progress() + cost + time_of_trying);
  }
  mutex.owner_ = &thread;
  mutex.wanted_ = stage_ != Stage::begin;
  stage_ = Stage::taken;
  thread.world().spent().add(Spent::lock, thread.world().now() - waits_since_ + cost);
  return Next::work_until(thread.progress() + cost + held(thread));
}

Ps SimMutex::touch(Thread& thread) {
  const MemoryProfile& costs = thread.host().costs().memory;
  const int cpu = thread.core->cpu();
  const bool elsewhere = last_cpu_ >= 0 && last_cpu_ != cpu;
  last_cpu_ = cpu;
  return costs.lock + (elsewhere ? costs.lock_hand_over : 0);
}

Next SimMutex::Passage::step(Thread& thread) {
  if (stage_ == Stage::taken) {
    stage_ = Stage::releasing;
    return Next::work_until(thread.progress() + mutex_->release(thread));
  }
  if (stage_ == Stage::releasing) {
    stage_ = Stage::begin;
    mutex_->passages_.give_back(*this);
    return Next::done();
  }
  return Acquisition::step(thread);
}

Ps SimMutex::Passage::held(Thread& thread) const {
  const Ps time = thread.host().costs().program.client_serial;
  thread.world().spent().add(Spent::program, time);
  return time;
}

Ps SimMutex::release(Thread& thread) {
  const HostProfile& costs = thread.host().costs();
  owner_ = nullptr;
  if (!std::exchange(wanted_, false)) return costs.memory.lock;
  const auto runs = [](const Thread* t) { return t->state() == Thread::State::running; };
  const auto trier = std::find_if(triers_.begin(), triers_.end(), runs);
  if (trier != triers_.end()) (*trier)->retarget(0);
  if (sleepers_.empty()) return costs.memory.lock + costs.scheduler.syscall;
  Thread& next = *sleepers_.front();
  sleepers_.pop_front();
  next.wake_up();
  return costs.memory.lock + costs.scheduler.syscall + costs.scheduler.wake_cost;
}

void SimMutex::lock() {
  Acquisition acquisition(*this);
  world_.current()->perform(acquisition);
}

void SimMutex::unlock() {
  ++recorded_;
  world_.current()->record(*this, 0);
}

void SimMutex::pass() {
  world_.current()->record(passages_.take());
}

void SimMutex::on_event(std::uint64_t) {
  --recorded_;
  Thread& thread = *world_.playing();
  thread.stall(release(thread), Spent::lock);
}

}  // namespace rkv::sim
