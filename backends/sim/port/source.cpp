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

void Source::look_again() {
  for (Thread* thread : watchers_) {
    if (thread->state() != Thread::State::sleeping) thread->signal();
  }
}

bool Source::arrived() {
  look_again();
  if (!armed_) return false;
  armed_ = false;
  event_due_ = true;
  return true;
}

void Source::wake_one() {
  const auto last = std::find_if(watchers_.rbegin(), watchers_.rend(), [](const Thread* thread) {
    return thread->state() == Thread::State::sleeping;
  });
  if (last != watchers_.rend()) (*last)->wake_up();
}

void Source::deliver_event() {
  event_due_ = false;
  event_pending_ = true;
  wake_one();
}

}  // namespace rkv::sim
