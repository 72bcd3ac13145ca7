#include "backends/sim/port/sim_stop_flag.hpp"

#include "core/error.hpp"

namespace rkv::sim {

void SimStopFlag::request() {
  if (requested_) return;
  requested_ = true;
  for (Thread* thread : watchers_) thread->signal();
}

void SimStopFlag::watch(Thread& thread) {
  thread.stop_place = watchers_.size();
  watchers_.push_back(&thread);
}

void SimStopFlag::forget(Thread& thread) {
  watchers_[thread.stop_place] = watchers_.back();
  watchers_[thread.stop_place]->stop_place = thread.stop_place;
  watchers_.pop_back();
}

SimStopFlag& sim_stop_flag(const StopFlag& flag) {
  const auto* own = dynamic_cast<const SimStopFlag*>(&flag);
  if (own == nullptr) throw Error("a stop flag was made by another backend");
  // Waiting is registered at the flag, whose state to others stays as it is.
  return const_cast<SimStopFlag&>(*own);
}

}  // namespace rkv::sim
