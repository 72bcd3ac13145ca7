// Bernstein's string hash, as the thesis's table uses it: hash = hash * 33 + byte, from 5381, in 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv {

[[nodiscard]] constexpr std::uint64_t djb2(std::span<const std::byte> bytes) {
  std::uint64_t hash = 5381;
  for (const std::byte byte : bytes) {
    hash = hash * 33 + std::to_integer<std::uint64_t>(byte);
  }
  return hash;
}

}  // namespace rkv
