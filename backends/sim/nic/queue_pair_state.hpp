// What a card knows of a queue pair: its two queues, its peer, and messages of it that wait on the card.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sim/nic/completion_sink.hpp"
#include "backends/sim/nic/message.hpp"
#include "backends/sim/nic/receive_slots.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

struct QueuePairSetup {
  Transport transport = Transport::rc;
  CompletionSink* send_completions = nullptr;
  CompletionSink* receive_completions = nullptr;
  std::uint32_t send_depth = 0;
  std::uint32_t receive_depth = 0;
  ReceiveSlots* shared_receives = nullptr;  // instead of its own
  std::uint32_t max_sge = 1;
  bool one_sided = false;  // the peer may read and write exposed memory
};

// Messages of one queue pair, linked through Message::next.
class MessageList {
 public:
  [[nodiscard]] bool empty() const { return first_ == Message::none; }
  [[nodiscard]] std::uint32_t first() const { return first_; }
  void append(MessagePool& pool, Message& message) {
    message.next = Message::none;
    (empty() ? first_ : pool[last_].next) = message.number;
    last_ = message.number;
  }
  // By sequence; nearly always at the end.
  void insert(MessagePool& pool, Message& message) {
    if (empty() || pool[last_].sequence < message.sequence) return append(pool, message);
    std::uint32_t* link = &first_;
    while (pool[*link].sequence < message.sequence) link = &pool[*link].next;
    message.next = *link;
    *link = message.number;
  }
  Message& pop(MessagePool& pool) {
    Message& message = pool[first_];
    first_ = message.next;
    return message;
  }

 private:
  std::uint32_t first_ = Message::none;
  std::uint32_t last_ = Message::none;
};

struct QueuePairState {
  QueuePairState(std::uint32_t its_number, const QueuePairSetup& its_setup)
      : number(its_number),
        setup(its_setup),
        send_ids(its_setup.send_depth),
        own_receives(its_setup.shared_receives == nullptr ? its_setup.receive_depth : 0) {}

  const std::uint32_t number;
  const QueuePairSetup setup;
  bool connected = false;
  bool failed = false;
  Address peer;  // not of UD

  Ps chain_fetched = 0;  // when the card has the requests of the last post of several

  // Sends, counted from the first. freed <= done <= rung <= posted <= freed + depth.
  std::uint64_t sends_posted = 0;
  std::uint64_t sends_rung = 0;         // by now the card knows of them
  std::uint64_t sends_done = 0;         // RC: acknowledged, or failed
  std::uint64_t sends_freed = 0;        // their completion was taken, or a later one
  std::vector<std::uint64_t> send_ids;  // a ring by sequence
  MessageList on_card;                  // not yet due on the link, in order
  Ps link_after = 0;                    // when the last one before them is due
  std::uint32_t reads_outstanding = 0;  // on the link, or beyond
  Ps completed_after = 0;               // completions keep their order
  MessageList held_back;                // RC: to be sent again, by sequence
  MessageList answered;                 // RC: but requests in front of them not, by sequence
  Ps retry_at = forever;                // when they will be
  std::uint32_t unanswered = 0;

  ReceiveSlots own_receives;
  std::uint64_t expected = 0;          // RC: the next message's sequence
  std::uint32_t awaiting_context = 0;  // arrived messages that wait for its context or for a receive
  Ps receives_there = 0;               // when the card has the receives of all messages that have come

  [[nodiscard]] ReceiveSlots& receives() {
    return setup.shared_receives == nullptr ? own_receives : *setup.shared_receives;
  }
  [[nodiscard]] bool datagram() const { return setup.transport == Transport::ud; }
  [[nodiscard]] bool reliable() const { return setup.transport == Transport::rc; }
};

}  // namespace rkv::sim
