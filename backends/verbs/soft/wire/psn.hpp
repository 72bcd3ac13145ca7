// Packet sequence numbers: 24 bits that wrap around (IBA vol. 1, 9.7.2).
#pragma once

#include <cstdint>

namespace rkv::soft::wire {

inline constexpr std::uint32_t psn_mask = 0xff'ff'ff;

constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t packets) {
  return (psn + packets) & psn_mask;
}

// How far `psn` is ahead of `other`; negative: behind. Right up to half of the numbers.
constexpr std::int32_t psn_distance(std::uint32_t psn, std::uint32_t other) {
  return static_cast<std::int32_t>((psn - other) << 8) >> 8;
}

}  // namespace rkv::soft::wire
