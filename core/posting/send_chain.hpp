// Sends of one queue pair that are posted together, with one doorbell. They count as posted in their lane
// (send_lane.hpp) from when they are added, so they are posted before their thread waits for one of them or
// for its place.
//
// One thread's. Neither allocates nor throws once it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "core/port/device.hpp"

namespace rkv {

class SendChain {
 public:
  // length: 1 to most_chained.
  explicit SendChain(std::uint32_t length) : length_(length) { waiting_.reserve(length); }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] bool full() const { return waiting_.size() >= length_; }
  // Once it is not full.
  void add(const SendRequest& request) { waiting_.push_back(request); }
  // Posts what waits, if anything does. False: refused, and nothing waits any more.
  [[nodiscard]] bool post(QueuePair& queue_pair) {
    if (waiting_.empty()) return true;
    const bool posted = queue_pair.post_sends(waiting_) == 0;
    waiting_.clear();
    return posted;
  }

 private:
  std::uint32_t length_;
  std::vector<SendRequest> waiting_;
};

}  // namespace rkv
