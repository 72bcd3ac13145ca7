// Bytes in at the back and out at the front, what is inside always contiguous. Grows as it must.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rkv::sim {

class ByteQueue {
 public:
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(storage_).subspan(begin_); }
  [[nodiscard]] std::size_t size() const { return storage_.size() - begin_; }

  void append(std::span<const std::byte> bytes) {
    if (begin_ > size()) {  // a move of less than what has gone by since the last one
      storage_.erase(storage_.begin(), storage_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    storage_.insert(storage_.end(), bytes.begin(), bytes.end());
  }
  // At most size() bytes.
  void drop_front(std::size_t count) {
    begin_ += std::min(count, size());
    if (begin_ == storage_.size()) clear();
  }
  void drop_back(std::size_t count) {
    storage_.resize(storage_.size() - std::min(count, size()));
    if (begin_ == storage_.size()) clear();
  }
  void clear() {
    storage_.clear();
    begin_ = 0;
  }

 private:
  std::vector<std::byte> storage_;
  std::size_t begin_ = 0;
};

}  // namespace rkv::sim
