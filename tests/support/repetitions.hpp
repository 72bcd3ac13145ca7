// How often a random test is repeated, or how many operations a whole point has: under AddressSanitizer and
// ThreadSanitizer a tenth, since there each costs many times as much, and what they look for shows early.
#pragma once

#include <cstdint>

namespace rkv::test {

[[nodiscard]] constexpr std::uint64_t repetitions(std::uint64_t full) {
#if defined(RKV_ADDRESS_SANITIZER) || defined(RKV_THREAD_SANITIZER)
  return full / 10;
#else
  return full;
#endif
}

}  // namespace rkv::test
