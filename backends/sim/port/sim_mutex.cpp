#include "backends/sim/port/sim_mutex.hpp"

#include "backends/sim/cpu/core.hpp"
#include "backends/sim/cpu/host.hpp"

namespace rkv::sim {

SimMutex::~SimMutex() {
  if (recorded_ > 0) world_.current()->flush();
}

Next SimMutex::Acquisition::step(Thread& thread) {
  if (stage_ == Stage::taken) return Next::done();
  SimMutex& mutex = *mutex_;
  if (stage_ == Stage::begin) waits_since_ = thread.world().now();
  if (mutex.owner_ != nullptr) {
    // The kernel looks at the lock's word before it lets a thread sleep on it, so no release is missed.
    stage_ = Stage::asleep;
    thread.world().spent().add(Spent::kernel, thread.host().costs().scheduler.syscall);
    mutex.sleepers_.push_back(&thread);
    return Next::sleep();
  }
  const MemoryProfile& costs = thread.host().costs().memory;
  const bool elsewhere = mutex.last_cpu_ >= 0 && mutex.last_cpu_ != thread.core->cpu();
  const Ps cost = costs.lock + (elsewhere ? costs.lock_hand_over : 0);
  mutex.owner_ = &thread;
  mutex.last_cpu_ = thread.core->cpu();
  stage_ = Stage::taken;
  thread.world().spent().add(Spent::lock, thread.world().now() - waits_since_ + cost);
  return Next::work_until(thread.progress() + cost + held(thread));
}

Next SimMutex::Passage::step(Thread& thread) {
  if (stage_ == Stage::taken) {
    stage_ = Stage::releasing;
    return Next::work_until(thread.progress() + mutex_->release(thread));
  }
  if (stage_ == Stage::releasing) {
    stage_ = Stage::begin;
    mutex_->free_passages_.push_back(this);
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
  if (sleepers_.empty()) return costs.memory.lock;
  Thread& next = *sleepers_.front();
  sleepers_.pop_front();
  next.wake_up();
  return costs.memory.lock + costs.scheduler.syscall + costs.scheduler.wake_cost;
}

SimMutex::Passage& SimMutex::free_passage() {
  if (free_passages_.empty()) return passages_.emplace_back(*this);
  Passage& passage = *free_passages_.back();
  free_passages_.pop_back();
  return passage;
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
  world_.current()->record(free_passage());
}

void SimMutex::on_event(std::uint64_t) {
  --recorded_;
  Thread& thread = *world_.playing();
  thread.stall(release(thread), Spent::lock);
}

}  // namespace rkv::sim
