// Selective signalling: which sends ask for a completion, and when a buffer may be written again.
//
// A lane is one thread's use of one queue pair. Its sends are numbered; one in `interval` is signalled, and a
// queue pair completes in order, so the completion of number n says that all up to n are done. Buffer n is
// n modulo depth: free again as soon as the lane is not full.
//
// next(), full() and idle() belong to the lane's thread; completed() may be called by any thread, since
// several workers may take completions from one queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace rkv {

class SendLane {
 public:
  struct Slot {
    std::uint32_t number;
    bool signalled;
  };

  // depth: a power of two, since numbers wrap around, and at least 2 * interval, so that a full lane always
  // has a signalled send under way (lane_depth()).
  SendLane(std::uint32_t depth, std::uint32_t interval) : depth_(depth), interval_(interval) {}

  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] bool full() const { return posted_ - completed_.load(std::memory_order_acquire) >= depth_; }
  // Whether all sends are done, as far as completions tell.
  [[nodiscard]] bool idle() const { return posted_ == completed_.load(std::memory_order_acquire); }
  // The buffer that the next send uses, once the lane is not full.
  [[nodiscard]] std::uint32_t next_buffer() const { return posted_ % depth_; }
  // Counts a send that is about to be posted.
  Slot next() {
    const std::uint32_t number = posted_++;
    return {.number = number, .signalled = posted_ % interval_ == 0};
  }
  // The send with this number is done, and all before it.
  void completed(std::uint32_t number) {
    std::uint32_t seen = completed_.load(std::memory_order_relaxed);
    // Numbers wrap around, so the later one is told by the sign of the difference.
    while (static_cast<std::int32_t>(number + 1 - seen) > 0 &&
           !completed_.compare_exchange_weak(seen, number + 1, std::memory_order_release,
                                             std::memory_order_relaxed)) {
    }
  }

 private:
  std::uint32_t depth_;
  std::uint32_t interval_;
  std::uint32_t posted_ = 0;
  std::atomic<std::uint32_t> completed_{0};
};

// Deep enough for `outstanding` sends at a time without waiting on the signalling interval.
[[nodiscard]] constexpr std::uint32_t lane_depth(std::uint32_t outstanding, std::uint32_t interval) {
  return std::bit_ceil(std::max({2 * outstanding, 2 * interval, 8U}));
}

}  // namespace rkv
