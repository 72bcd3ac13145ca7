// A fixed one-to-one map of [0, count) onto itself that spreads neighbours, so that the hottest ranks of a
// Zipf distribution aren't neighbouring keys. Thread-safe.
#pragma once

#include <bit>
#include <cstdint>

namespace rkv {

class Permutation {
 public:
  // 0 < count <= 2^62
  explicit constexpr Permutation(std::uint64_t count)
      : count_(count),
        bits_(count <= 2 ? 1 : static_cast<int>(std::bit_width(count - 1))),
        mask_((1ULL << bits_) - 1) {}

  // Each round is one-to-one on numbers of bits_ bits: an odd multiplier, an offset and a shifted xor are.
  // Numbers that land outside [0, count) go round again ("cycle walking"), twice at most on average.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = round(index, 0x9e3779b97f4a7c15, 0x632be59bd9b4e019);
      index = round(index, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb);
    } while (index >= count_);
    return index;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t round(std::uint64_t x, std::uint64_t factor,
                                              std::uint64_t offset) const {
    x = (x * factor + offset) & mask_;
    return x ^ (x >> ((bits_ + 1) / 2));
  }

  std::uint64_t count_;
  int bits_;
  std::uint64_t mask_;
};

}  // namespace rkv
