// The keys and values of Troost's benchmark (VU Amsterdam, 2021): "Key from instance 3 count 17" and
// "Message from instance 3 count 17". Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rkv {

// 18 or 22 letters, a client of 4 digits, 7 letters, a count of 20 digits or sign and 19.
inline constexpr std::uint32_t thesis_key_max_bytes = 18 + 4 + 7 + 20;
inline constexpr std::uint32_t thesis_value_max_bytes = 22 + 4 + 7 + 20;

// Write the text, without a terminating zero, and return its bytes. The buffers hold the maxima above.
std::uint32_t write_thesis_key(std::uint32_t client, std::int64_t count, std::span<std::byte> out);
std::uint32_t write_thesis_value(std::uint32_t client, std::int64_t count, std::span<std::byte> out);

// Whose key it is.
struct ThesisKey {
  std::uint32_t client = 0;
  std::int64_t count = 0;

  bool operator==(const ThesisKey&) const = default;
};
// Nothing when it isn't one that write_thesis_key writes.
[[nodiscard]] std::optional<ThesisKey> read_thesis_key(std::span<const std::byte> key);

}  // namespace rkv
