// READs whose end their poster finds by itself (SendRequest::watched): the last byte of the destination,
// which is 0 until then. The card places a READ's bytes in increasing order, as all that poll memory rely on.
//
// READs of one queue pair are handed out in the order in which they were posted. What the completion queue
// gives meanwhile is held back until they were looked at, so that a watched one comes before the completion
// of a later request of its queue pair, and one that failed comes once, by the device's error. A READ whose
// bytes came and that was flushed all the same may come again, flushed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/port/device.hpp"

namespace rkv::verbs {

// One thread at a time; a watch that nothing is added to may be asked by any thread. Allocates at creation
// only.
class ReadWatch {
 public:
  explicit ReadWatch(std::uint32_t capacity) : capacity_(capacity) { reads_.reserve(capacity); }

  // So many more may be added.
  [[nodiscard]] bool holds(std::size_t more) const { return capacity_ - reads_.size() >= more; }
  // Nothing to look at and nothing held back.
  [[nodiscard]] bool idle() const { return reads_.empty() && held_begin_ == held_end_; }

  // Only where it holds one more.
  void add(std::uint32_t queue_pair, std::uint64_t id, const std::byte& last) {
    reads_.push_back({.last = &last, .id = id, .queue_pair = queue_pair});
  }
  // The device completed it in error. Nothing is done for requests that are not watched.
  void fail(std::uint32_t queue_pair, std::uint64_t id);
  // The queue pair is gone.
  void forget(std::uint32_t queue_pair);

  // READs that have ended, then what `poll` gave. `poll` fills a span from the front and says how far; it
  // calls fail() for errors.
  template <typename Poll>
  [[nodiscard]] std::uint32_t take(std::span<Completion> out, Poll poll) {
    if (held_begin_ == held_end_) {
      held_begin_ = 0;
      held_end_ = poll(std::span<Completion>(held_));
    }
    const std::uint32_t ended = take_ended(out);
    return ended + take_held(out.subspan(ended));
  }

 private:
  struct Read {
    const std::byte* last = nullptr;
    std::uint64_t id = 0;
    std::uint32_t queue_pair = 0;
    bool ended = false;
  };

  std::uint32_t take_ended(std::span<Completion> out);
  std::uint32_t take_held(std::span<Completion> out);

  std::size_t capacity_;
  std::vector<Read> reads_;  // in the order in which they were posted
  std::array<Completion, 16> held_;
  std::uint32_t held_begin_ = 0;
  std::uint32_t held_end_ = 0;
};

}  // namespace rkv::verbs
