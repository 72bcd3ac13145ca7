// The slots that have no request under way, first freed first out, each with the time from which it may be
// used again (think time). A fixed ring; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/port/time.hpp"

namespace rkv {

class FreeSlots {
 public:
  explicit FreeSlots(std::uint32_t slots) : ring_(slots), count_(slots) {
    for (std::uint32_t slot = 0; slot < slots; ++slot) ring_[slot] = {.slot = slot, .ready = Instant::min()};
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] bool all_free() const { return count_ == ring_.size(); }
  // When the next one may be used. Not when empty.
  [[nodiscard]] Instant next_ready() const { return ring_[head_].ready; }
  std::uint32_t pop() {
    const std::uint32_t slot = ring_[head_].slot;
    head_ = (head_ + 1) % size();
    --count_;
    return slot;
  }
  void push(std::uint32_t slot, Instant ready) {
    ring_[(head_ + count_) % size()] = {.slot = slot, .ready = ready};
    ++count_;
  }

 private:
  struct Free {
    std::uint32_t slot = 0;
    Instant ready;
  };
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ring_.size()); }

  std::vector<Free> ring_;
  std::uint32_t head_ = 0;
  std::uint32_t count_;
};

}  // namespace rkv
