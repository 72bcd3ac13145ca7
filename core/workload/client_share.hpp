// Which of a point's clients a process runs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rkv {

struct ClientShare {  // `count` of them from number `first`
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t of = 0;  // all clients of the point
};

// The share of one of several parts (processes, hosts), as even as it can be.
[[nodiscard]] constexpr ClientShare client_share(std::uint32_t clients, std::uint32_t part,
                                                 std::uint32_t parts) {
  const std::uint32_t each = clients / parts;
  const std::uint32_t more = clients % parts;
  return {.first = part * each + std::min(part, more), .count = each + (part < more ? 1 : 0), .of = clients};
}

}  // namespace rkv
