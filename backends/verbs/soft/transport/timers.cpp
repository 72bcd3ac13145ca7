#include "backends/verbs/soft/transport/timers.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "backends/verbs/soft/sync/short_slices.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"

namespace rkv::soft {

Timers& Timers::instance() {
  // Never destroyed: the thread is detached and may outlive static destruction.
  static auto* const timers = new Timers;
  return *timers;
}

void Timers::arm(QueuePair& qp, std::uint64_t deadline_ns) {
  const std::scoped_lock lock(mutex_);
  if (linked(qp)) {
    qp.timer_deadline_ns = std::min(qp.timer_deadline_ns, deadline_ns);
  } else {
    qp.timer_deadline_ns = deadline_ns;
    qp.previous_timer = nullptr;
    qp.next_timer = first_;
    if (first_ != nullptr) {
      first_->previous_timer = &qp;
    }
    first_ = &qp;
  }
  if (!started_) {
    started_ = true;
    std::thread([this] { run(); }).detach();
  }
  changed_.notify_one();
}

void Timers::cancel(QueuePair& qp) {
  const std::scoped_lock lock(mutex_);
  if (linked(qp)) {
    unlink(qp);
  }
}

void Timers::unlink(QueuePair& qp) {
  (qp.previous_timer == nullptr ? first_ : qp.previous_timer->next_timer) = qp.next_timer;
  if (qp.next_timer != nullptr) {
    qp.next_timer->previous_timer = qp.previous_timer;
  }
  qp.timer_deadline_ns = 0;
}

void Timers::run() {
  ask_for_short_slices();
  std::unique_lock lock(mutex_);
  for (;;) {
    QueuePair* due = nullptr;
    std::uint64_t next_ns = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t now_ns = monotonic_ns();
    for (QueuePair* each = first_; each != nullptr; each = each->next_timer) {
      if (each->timer_deadline_ns <= now_ns) {
        due = each;
        break;
      }
      next_ns = std::min(next_ns, each->timer_deadline_ns);
    }
    if (due != nullptr) {
      unlink(*due);
      due->pin();
      lock.unlock();
      on_deadline(*due);
      due->unpin();
      lock.lock();
    } else if (first_ == nullptr) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(next_ns - now_ns));
    }
  }
}

}  // namespace rkv::soft
