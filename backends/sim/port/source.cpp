#include "backends/sim/port/source.hpp"

#include <algorithm>

namespace rkv::sim {

void Source::forget(Thread& thread) {
  watchers_.erase(std::find(watchers_.begin(), watchers_.end(), &thread));
}

const Core* Source::core_of_watcher() const {
  return watchers_.empty() ? nullptr : watchers_.front()->core;
}

bool Source::watcher_sleeps() const {
  return std::any_of(watchers_.begin(), watchers_.end(),
                     [](const Thread* thread) { return thread->state() == Thread::State::sleeping; });
}

bool Source::arrived() {
  for (Thread* thread : watchers_) {
    if (thread->state() != Thread::State::sleeping) thread->signal();
  }
  if (!armed_) return false;
  armed_ = false;
  event_due_ = true;
  return true;
}

std::uint32_t Source::deliver_event() {
  event_due_ = false;
  event_pending_ = true;
  std::uint32_t woken = 0;
  for (Thread* thread : watchers_) {
    if (thread->state() == Thread::State::sleeping) {
      thread->wake_up();
      ++woken;
    }
  }
  return woken;
}

}  // namespace rkv::sim
