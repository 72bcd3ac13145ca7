// A completion channel: the events of its completion queues behind one file descriptor.
#pragma once

#include <infiniband/verbs.h>

#include <mutex>

#include "backends/verbs/soft/sync/event_tokens.hpp"

namespace rkv::soft {

struct CompletionQueue;

struct CompletionChannel {
  ibv_comp_channel ibv{};  // first
  EventTokens tokens;
  std::mutex mutex;  // guards the list; a leaf lock
  CompletionQueue* first = nullptr;
  CompletionQueue* last = nullptr;

  static CompletionChannel* from(ibv_comp_channel* channel) {
    return reinterpret_cast<CompletionChannel*>(channel);
  }

  // Called by whoever completed work on an armed queue. Allocates nothing: each queue is listed once, with a
  // count.
  void push(CompletionQueue& cq);
  // Blocks as the descriptor does. Null with errno set: EAGAIN, EINTR.
  CompletionQueue* pop();
  // Forgets the undelivered events of a queue that is being destroyed.
  void remove(CompletionQueue& cq);
};

}  // namespace rkv::soft
