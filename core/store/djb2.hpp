// Bernstein's string hash, as the thesis's table uses it: hash = hash * 33 + byte, from 5381, in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv {

inline constexpr std::uint64_t djb2_start = 5381;

// `hash` is that of the bytes before, where a text is hashed piece by piece.
[[nodiscard]] constexpr std::uint64_t djb2(std::span<const std::byte> bytes,
                                           std::uint64_t hash = djb2_start) {
  for (const std::byte byte : bytes) {
    hash = hash * 33 + std::to_integer<std::uint64_t>(byte);
  }
  return hash;
}

}  // namespace rkv
