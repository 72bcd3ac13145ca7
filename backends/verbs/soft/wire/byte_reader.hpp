// Reads bytes one behind the other; numbers with the highest byte first, as on the wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv::soft::wire {

class ByteReader {
 public:
  // `in` must hold all that is read.
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}
  template <typename Number>
  Number take() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      value = value << 8 | std::to_integer<std::uint8_t>(in_[at_++]);
    return static_cast<Number>(value);
  }
  void take(std::span<std::byte> out) {
    std::ranges::copy(in_.subspan(at_, out.size()), out.begin());
    at_ += out.size();
  }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

}  // namespace rkv::soft::wire
