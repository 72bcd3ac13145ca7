#include "backends/verbs/soft/verbs/completion_channel.hpp"

#include "backends/verbs/soft/verbs/completion_queue.hpp"

namespace rkv::soft {

void CompletionChannel::push(CompletionQueue& cq) {
  {
    const std::scoped_lock lock(mutex);
    if (cq.undelivered_events++ == 0) {
      cq.next_in_channel = nullptr;
      (first == nullptr ? first : last->next_in_channel) = &cq;
      last = &cq;
    }
  }
  tokens.post();
}

CompletionQueue* CompletionChannel::pop() {
  while (tokens.take()) {
    const std::scoped_lock lock(mutex);
    if (first == nullptr) {
      continue;  // the token belonged to a queue that was destroyed since
    }
    CompletionQueue* const cq = first;
    ++cq->delivered_events;
    if (--cq->undelivered_events == 0) {
      first = cq->next_in_channel;
    }
    return cq;
  }
  return nullptr;
}

void CompletionChannel::remove(CompletionQueue& cq) {
  const std::scoped_lock lock(mutex);
  if (cq.undelivered_events == 0) {
    return;
  }
  CompletionQueue* previous = nullptr;
  for (CompletionQueue* at = first; at != &cq; at = at->next_in_channel) {
    previous = at;
  }
  (previous == nullptr ? first : previous->next_in_channel) = cq.next_in_channel;
  if (last == &cq) {
    last = previous;
  }
  tokens.withdraw(cq.undelivered_events);
  cq.undelivered_events = 0;
}

}  // namespace rkv::soft
