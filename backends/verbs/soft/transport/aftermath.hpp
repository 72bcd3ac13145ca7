// What a thread has to do once it holds no lock of a queue pair any more: settle() in failure.hpp does it.
//
// Lives on the stack of one thread.
#pragma once

#include <array>
#include <cstddef>

#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

class Aftermath {
 public:
  Aftermath() {}  // leaves the array alone: one is made for each post

  // A queue pair whose queues are to be flushed. It is pinned.
  void add_failure(QueuePair& qp) {
    if (!qp.failure_listed.exchange(true, std::memory_order_acq_rel)) {
      qp.pin();
      qp.next_failure = first_failure_;
      first_failure_ = &qp;
    }
  }
  // A completion queue whose event is to be delivered; it is pinned. Waking a thread may cost this one its
  // core, so it should not hold a lock then.
  void add_event(CompletionQueue& cq) {
    if (event_count_ == events_.size()) {
      cq.notify();
    } else {
      events_[event_count_++] = &cq;
    }
  }

  bool empty() const { return first_failure_ == nullptr && event_count_ == 0; }
  QueuePair* take_failure() {
    QueuePair* const qp = first_failure_;
    if (qp != nullptr) {
      first_failure_ = qp->next_failure;
      qp->failure_listed.store(false, std::memory_order_release);
    }
    return qp;
  }
  void deliver_events() {
    while (event_count_ > 0) {
      events_[--event_count_]->notify();
    }
  }

 private:
  QueuePair* first_failure_ = nullptr;
  std::size_t event_count_ = 0;
  std::array<CompletionQueue*, 8> events_;
};

}  // namespace rkv::soft
