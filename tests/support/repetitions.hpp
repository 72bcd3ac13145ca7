// How often a random test is repeated: under AddressSanitizer a fifth, since there a repetition costs many
// times as much, and what it looks for, bad memory accesses, shows early.
#pragma once

#include <cstdint>

namespace rkv::test {

[[nodiscard]] constexpr std::uint64_t repetitions(std::uint64_t full) {
#ifdef __SANITIZE_ADDRESS__
  return full / 5;
#else
  return full;
#endif
}

}  // namespace rkv::test
