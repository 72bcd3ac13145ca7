#include "backends/sim/port/sim_mutex.hpp"

#include <utility>

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {
SimMutex::~SimMutex() {
  if (recorded_ > 0) world_.current()->flush();
}

Next SimMutex::Acquisition::step(Thread& thread) {
  SimMutex& mutex = *mutex_;
  if (stage_ == Stage::taken) return Next::done();
  const bool first = stage_ == Stage::begin;
  if (first) waits_since_ = thread.world().now();
  if (stage_ == Stage::in_kernel && mutex.state_ == State::held_as_wanted) {
    stage_ = Stage::asleep;
    mutex.sleepers_.push_back(&thread);
    return Next::sleep();
  }
  const Ps cost = mutex.touch(thread);
  if (mutex.state_ == State::free) {
    mutex.state_ = first ? State::held : State::held_as_wanted;
    stage_ = Stage::taken;
    thread.world().spent().add(Spent::lock, thread.world().now() - waits_since_ + cost);
    return Next::work_until(thread.progress() + cost + held(thread));
  }
  mutex.state_ = State::held_as_wanted;
  stage_ = Stage::in_kernel;
  return Next::work_until(thread.progress() + cost + thread.host().costs().scheduler.syscall);
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
  if (std::exchange(state_, State::free) == State::held) return costs.memory.lock;
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
