#include "core/workload/value_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/workload/rng.hpp"

namespace rkv {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are stored little-endian");

std::uint64_t pattern_seed(const ValueTag& tag) {
  std::uint64_t mix = tag.key_id;
  if (tag.bytes >= value_header_bytes) {
    mix = splitmix64(mix) ^ tag.version;
    mix = splitmix64(mix) ^ (std::uint64_t{tag.writer} << 32 | tag.bytes);
  }
  return splitmix64(mix);
}

struct Header {
  std::uint64_t key_id;
  std::uint64_t version;
  std::uint32_t writer;
  std::uint32_t bytes;
};
static_assert(sizeof(Header) == value_header_bytes);

// Calls each(offset, word, bytes) for the pattern's words of 8 bytes, the last one perhaps cut. Stops when it
// returns false.
template <typename Function>
bool for_pattern(const ValueTag& tag, Function&& each) {
  std::uint64_t state = pattern_seed(tag);
  for (std::size_t at = tag.bytes >= value_header_bytes ? value_header_bytes : 0; at < tag.bytes; at += 8) {
    const std::uint64_t word = splitmix64(state);
    if (!each(at, word, std::min<std::size_t>(8, tag.bytes - at))) {
      return false;
    }
  }
  return true;
}

}  // namespace

void write_value(const ValueTag& tag, std::span<std::byte> out) {
  if (tag.bytes >= value_header_bytes) {
    const Header header{tag.key_id, tag.version, tag.writer, tag.bytes};
    std::memcpy(out.data(), &header, sizeof header);
  }
  for_pattern(tag, [&](std::size_t at, std::uint64_t word, std::size_t bytes) {
    std::memcpy(out.data() + at, &word, bytes);
    return true;
  });
}

ValueTag read_value_tag(std::span<const std::byte> value) {
  Header header;
  std::memcpy(&header, value.data(), sizeof header);
  return {header.key_id, header.version, header.writer, header.bytes};
}

bool is_value(const ValueTag& tag, std::span<const std::byte> value) {
  if (value.size() != tag.bytes || (tag.bytes >= value_header_bytes && read_value_tag(value) != tag)) {
    return false;
  }
  return for_pattern(tag, [&](std::size_t at, std::uint64_t word, std::size_t bytes) {
    return std::memcmp(value.data() + at, &word, bytes) == 0;
  });
}

}  // namespace rkv
