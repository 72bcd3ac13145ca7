// How message buffers lie in registered memory.
#pragma once

#include <cstdint>

namespace rkv {

// Buffers start on a cache line each, so that two messages never share one.
inline constexpr std::uint32_t line_bytes = 64;

[[nodiscard]] constexpr std::uint32_t round_to_line(std::uint32_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// Work request ids name an owner (a lane, a queue pair) and a number of its own.
[[nodiscard]] constexpr std::uint64_t request_id(std::uint32_t owner, std::uint32_t number) {
  return std::uint64_t{owner} << 32 | number;
}
[[nodiscard]] constexpr std::uint32_t id_owner(std::uint64_t id) {
  return static_cast<std::uint32_t>(id >> 32);
}
[[nodiscard]] constexpr std::uint32_t id_number(std::uint64_t id) {
  return static_cast<std::uint32_t>(id);
}

}  // namespace rkv
