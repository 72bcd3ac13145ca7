// Receives that are posted anew together: they wait until they are as many as a chain has, and are then
// posted by one call. What waits is not posted: a queue must have so many more receives than its peers may
// use up (receive_depth, core/scenario/check.cpp).
//
// Of one queue; one thread's. Neither allocates nor throws once it is made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/port/device.hpp"

namespace rkv {

class ReceiveChain {
 public:
  // length: 1 to most_chained; with 1 nothing waits.
  explicit ReceiveChain(std::uint32_t length) : length_(length) { waiting_.reserve(length); }

  // Adds a receive, and posts all that wait when they are enough. False: the queue refused them, and they
  // wait still. (All are alike but for the buffer: a queue that has room takes each of them or none.)
  [[nodiscard]] bool add(ReceiveQueue& queue, const ReceiveRequest& receive) {
    waiting_.push_back(receive);
    if (waiting_.size() < length_) return true;
    if (queue.post_receives(waiting_) != 0) return false;
    waiting_.clear();
    return true;
  }

  [[nodiscard]] std::span<const ReceiveRequest> waiting() const { return waiting_; }
  // Those that wait are somebody else's from now on.
  void clear() { waiting_.clear(); }

 private:
  std::uint32_t length_;
  std::vector<ReceiveRequest> waiting_;
};

}  // namespace rkv
