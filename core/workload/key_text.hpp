// The bytes of a key, from its number: the number in base 32, least significant digit first, then dots up to
// the key's size. Digits are 0-9 and a-v, so keys of one size differ when their numbers do, and keys of
// different sizes always differ. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rkv {

// Bytes that a key with this number needs at least.
[[nodiscard]] constexpr std::uint32_t key_text_bytes(std::uint64_t key_id) {
  std::uint32_t digits = 1;
  while ((key_id >>= 5) != 0) {
    ++digits;
  }
  return digits;
}

// Fills the whole of `out`, which holds key_text_bytes(key_id) at least.
inline void write_key_text(std::uint64_t key_id, std::span<std::byte> out) {
  std::size_t at = 0;
  do {
    const auto digit = static_cast<unsigned char>(key_id & 31);
    out[at++] = static_cast<std::byte>(digit < 10 ? '0' + digit : 'a' + digit - 10);
    key_id >>= 5;
  } while (key_id != 0);
  std::memset(out.data() + at, '.', out.size() - at);
}

}  // namespace rkv
