// Values that describe themselves, so that whoever reads one can tell whose it is, how old, and whether it is
// whole.
//
//   bytes  0- 7  key number            all little-endian
//   bytes  8-15  version: the writer's SETs so far, this one included; 0 for a preloaded value
//   bytes 16-19  writer: the client, or preload_writer
//   bytes 20-23  bytes of the whole value
//   bytes 24-    a pattern made from all of the above
//
// A value shorter than those 24 bytes is the start of a pattern made from the key number alone: it still
// tells another key's value, but not an old one. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv {

inline constexpr std::uint32_t value_header_bytes = 24;
inline constexpr std::uint32_t preload_writer = 0xffffffff;

struct ValueTag {
  std::uint64_t key_id = 0;
  std::uint64_t version = 0;
  std::uint32_t writer = 0;
  std::uint32_t bytes = 0;

  bool operator==(const ValueTag&) const = default;
};

// Fills the whole of `out`, which has tag.bytes bytes.
void write_value(const ValueTag& tag, std::span<std::byte> out);

// The header of a value of 24 bytes or more; nothing is checked.
[[nodiscard]] ValueTag read_value_tag(std::span<const std::byte> value);

// Whether every byte is what write_value would have put there.
[[nodiscard]] bool is_value(const ValueTag& tag, std::span<const std::byte> value);

}  // namespace rkv
