// The model of the soft RNIC (backends/verbs/soft): no card at all. The thread that posts a send moves the
// data itself, adds both completions, and writes an event for each of them whose queue is armed, which wakes
// the thread that sleeps for it:
//
//   held = soft_transfer + bytes x soft_copy_ns_per_byte [+ soft_elsewhere]
//          [+ soft_event, or soft_wake where a thread sleeps; for either queue]
//
// of its CPU time; the completions are visible before the event, which is charged when the queue is armed as
// the send is posted. Until the event it has its queue pair's lock and that of the receiver's, and keeps them
// if it loses its CPU (cpu/backoff_lock.hpp; backends/verbs/soft/verbs/queue_pair.hpp has the order of
// soft0's locks). That of a completion queue is cpu/poll_lock.hpp; those of receive queues are left out.
//
// soft_elsewhere: the receiver's CPU is another one, so that queues and buffers are in that one's caches, and
// the receiver pays it again when it takes the message. If it polls, it sees the completion soft_visible
// later: each is a few transfers of cache lines, of memory.lock_hand_over or so (Molka et al., ICPP 2015).
// `rkv-calibrate measure` takes both from posts and polls within a CPU and between two. A receiver that reads
// a message whole pays soft_read_ns_per_byte for each byte (SimRuntime::charge), by round trips of messages
// that are and are not read: their lines come from the sender's cache, and go back there for a later message.
// Of slots, which are written by WRITE, that is left out. Source: soft0's own posting path
// (backends/verbs/soft/README.md, "A message"). There is no link. RC loses nothing. A receive that is posted
// lets a waiting sender's message in at once, at no cost of CPU time.
#pragma once

#include <deque>
#include <map>

#include "backends/sim/cpu/backoff_lock.hpp"
#include "backends/sim/nic/card.hpp"

namespace rkv::sim {

// What the poster does for the event of an armed queue.
[[nodiscard]] inline Ps soft_event_cost(const NicProfile& profile, const CompletionSink& receiver) {
  return receiver.sleeps() ? profile.soft_wake : profile.soft_event;
}

class SoftNic final : public Card {
 public:
  SoftNic(Fabric& fabric, const NicProfile& profile, std::uint32_t host) : Card(fabric, profile, host) {}

  [[nodiscard]] BackoffLock* sender_lock(std::uint32_t queue_pair) override {
    return &locks(queue_pair).sends;
  }
  [[nodiscard]] BackoffLock* receiver_lock(std::uint32_t message) override;

 private:
  // A queue pair's.
  struct Locks {
    BackoffLock sends;
    BackoffLock receives;
  };
  Locks& locks(std::uint32_t queue_pair) {
    if (locks_.size() <= queue_pair) locks_.resize(queue_pair + 1);
    return locks_[queue_pair];
  }
  // What a thread has still to do for events when its post holds nothing any more.
  struct Owed {
    Ps time = 0;
    bool for_own = false;  // for its own queue, which makes one event of a post's completions
  };
  void owe(Ps time);
  void owe_for_own(Ps time);
  void end_post() override;
  void send(QueuePairState& pair, Message& message) override;
  void send_again(QueuePairState& pair, Message& message) override;
  void on_stage(Stage stage, Message& message) override;
  [[nodiscard]] Ps completion_latency() const override { return 0; }
  void receive_posted(QueuePairState& pair, Ps visible_from) override;

  std::deque<Locks> locks_;  // by the queue pair's number
  std::map<const Thread*, Owed> owed_;
};

}  // namespace rkv::sim
