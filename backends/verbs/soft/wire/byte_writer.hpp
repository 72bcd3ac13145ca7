// Writes bytes one behind the other; numbers with the highest byte first, as on the wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace rkv::soft::wire {

class ByteWriter {
 public:
  // `out` must have room for all that is written.
  explicit ByteWriter(std::span<std::byte> out) : out_(out) {}
  template <typename Number>
  void put(Number value) {
    for (std::size_t i = sizeof(Number); i-- > 0;) out_[at_++] = static_cast<std::byte>(value >> (8 * i));
  }
  void put(std::span<const std::byte> bytes) {
    if (std::byte* const place = out_.data() + at_; place != bytes.data()) {  // they may lie there already
      std::ranges::copy(bytes, place);
    }
    at_ += bytes.size();
  }
  void fill(std::byte byte, std::size_t count) {
    std::ranges::fill(out_.subspan(at_, count), byte);
    at_ += count;
  }

 private:
  std::span<std::byte> out_;
  std::size_t at_ = 0;
};

}  // namespace rkv::soft::wire
