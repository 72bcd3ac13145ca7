// Work request slots begin on a cache line each.
#pragma once

#include <cstdint>

namespace rkv::soft {

inline constexpr std::uint32_t line_bytes = 64;

[[nodiscard]] constexpr std::uint32_t whole_lines(std::uint32_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

}  // namespace rkv::soft
