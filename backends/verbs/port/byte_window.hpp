// A flat buffer of fixed capacity: bytes go in at the back and out at the front, and what is inside is always
// contiguous. Allocates at creation only. Room at the end is regained by moving what is left to the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace rkv::verbs {

class ByteWindow {
 public:
  explicit ByteWindow(std::size_t capacity) : storage_(capacity) {}

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::span(storage_).subspan(begin_, end_ - begin_);
  }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t room() const { return storage_.size() - size(); }

  // All that is free, in one piece. Invalidates what bytes() returned.
  [[nodiscard]] std::span<std::byte> free_space() {
    if (begin_ > 0) {
      std::memmove(storage_.data(), storage_.data() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
    }
    return std::span(storage_).subspan(end_);
  }
  // `count` bytes were written to free_space().
  void fill(std::size_t count) { end_ += count; }

  // Takes at most size() bytes off the front.
  void consume(std::size_t count) {
    begin_ += std::min(count, size());
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = 0; }

 private:
  std::vector<std::byte> storage_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace rkv::verbs
