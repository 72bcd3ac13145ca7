// Receives that were posted and wait for messages: a queue pair's own, or those that several share.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sim/nic/message.hpp"

namespace rkv::sim {

class ReceiveSlots {
 public:
  explicit ReceiveSlots(std::uint32_t depth) : ring_(depth) {}

  // A place is taken from the post until the completion was taken from its queue.
  [[nodiscard]] bool full() const { return posted_ - freed_ >= ring_.size(); }
  [[nodiscard]] bool empty() const { return matched_ == posted_; }
  void post(const ReceiveSlot& receive) { at(posted_++) = receive; }
  // The same among threads that post as they go: the card finds what it sees first in front.
  void post_in_order(const ReceiveSlot& receive) {
    std::uint64_t place = posted_++;
    for (; place > matched_ && at(place - 1).visible_from > receive.visible_from; --place) {
      at(place) = at(place - 1);
    }
    at(place) = receive;
  }
  // Not when empty.
  [[nodiscard]] const ReceiveSlot& front() const { return ring_[matched_ % ring_.size()]; }
  // Takes the front one. False: the card has not seen it yet, and now sees all that are visible.
  bool pop(Ps now) {
    const bool seen = matched_ < seen_;
    if (!seen) {
      seen_ = matched_;
      while (seen_ < posted_ && at(seen_).visible_from <= now) ++seen_;
    }
    ++matched_;
    return seen;
  }
  void free_one() { ++freed_; }

  // Whether a message has found none since this was cleared.
  bool missed = false;
  // When the card has the descriptors of those that it saw last, if it reads them then (nic.hpp).
  Ps fetched_at = 0;

 private:
  [[nodiscard]] ReceiveSlot& at(std::uint64_t place) { return ring_[place % ring_.size()]; }

  // Counted from the first. freed <= matched <= posted <= freed + depth, seen <= posted.
  std::uint64_t posted_ = 0;
  std::uint64_t matched_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t freed_ = 0;
  std::vector<ReceiveSlot> ring_;
};

}  // namespace rkv::sim
