// A fuzzer's input, read from front to back; zeros behind its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv::soft {

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }
  template <typename Number>
  Number number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8 | byte();
    return static_cast<Number>(value);
  }
  // Below a bound of at most 2^16.
  std::size_t below(std::size_t bound) {
    return (bound <= 256 ? byte() : number<std::uint16_t>()) % std::max<std::size_t>(bound, 1);
  }
  template <typename T, std::size_t Count>
  const T& one_of(const T (&values)[Count]) {
    return values[below(Count)];
  }
  std::span<const std::uint8_t> bytes(std::size_t count) {
    const std::span<const std::uint8_t> taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace rkv::soft
