// How message buffers lie in registered memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "core/error.hpp"

namespace rkv {

// Buffers start on a cache line each, so that two messages never share one.
inline constexpr std::uint32_t line_bytes = 64;

[[nodiscard]] constexpr std::uint32_t round_to_line(std::uint32_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// Bytes of a region of so many buffers. Requests name bytes of it with 32 bits: throws rkv::Error beyond.
[[nodiscard]] inline std::size_t region_bytes(std::uint64_t buffers, std::uint32_t stride_bytes) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (buffers > most / stride_bytes) {
    throw Error(
        std::to_string(buffers) + " message buffers of " + std::to_string(stride_bytes) +
        " bytes are more than a region's 4 GiB: take fewer clients, a smaller window or signal_interval, "
        "or smaller messages");
  }
  return buffers * stride_bytes;
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
