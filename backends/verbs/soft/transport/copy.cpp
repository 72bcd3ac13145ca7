#include "backends/verbs/soft/transport/copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace rkv::soft {
namespace {

using Word = std::uint64_t;
// Words that are moved between two looks at whether the end has come, which a word at a time takes as long as
// the words do.
constexpr std::size_t words_of_line = 8;
constexpr std::ptrdiff_t line_bytes = words_of_line * sizeof(Word);

std::size_t bytes_to_alignment(const std::byte* address) {
  return (sizeof(Word) - reinterpret_cast<std::uintptr_t>(address) % sizeof(Word)) % sizeof(Word);
}

void store_byte(std::byte* to, std::byte value, std::memory_order order) {
  std::atomic_ref(*reinterpret_cast<std::uint8_t*>(to)).store(static_cast<std::uint8_t>(value), order);
}

std::byte load_byte(const std::byte* from) {
  auto* const address = const_cast<std::byte*>(from);
  return static_cast<std::byte>(
      std::atomic_ref(*reinterpret_cast<std::uint8_t*>(address)).load(std::memory_order_acquire));
}

}  // namespace

void copy_private(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
}

void copy_publish(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::byte* const end = from + bytes;
  for (std::size_t head = std::min(bytes, bytes_to_alignment(to)); head > 0; --head) {
    const std::byte value = *from++;
    store_byte(to++, value, from == end ? std::memory_order_release : std::memory_order_relaxed);
  }
  while (end - from > line_bytes) {
    for (std::size_t i = 0; i < words_of_line; ++i, from += sizeof(Word), to += sizeof(Word)) {
      Word word;
      std::memcpy(&word, from, sizeof word);
      std::atomic_ref(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_relaxed);
    }
  }
  while (end - from >= static_cast<std::ptrdiff_t>(sizeof(Word))) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    from += sizeof word;
    std::atomic_ref(*reinterpret_cast<Word*>(to))
        .store(word, from == end ? std::memory_order_release : std::memory_order_relaxed);
    to += sizeof word;
  }
  while (from != end) {
    const std::byte value = *from++;
    store_byte(to++, value, from == end ? std::memory_order_release : std::memory_order_relaxed);
  }
}

void copy_observe(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::byte* const end = from + bytes;
  const auto copy_byte = [&] {
    const std::byte value = load_byte(from++);
    store_byte(to++, value, from == end ? std::memory_order_release : std::memory_order_relaxed);
  };
  const auto next_word = [&] {
    auto* const address = const_cast<std::byte*>(from);
    from += sizeof(Word);
    return std::atomic_ref(*reinterpret_cast<Word*>(address)).load(std::memory_order_acquire);
  };
  for (std::size_t head = std::min(bytes, bytes_to_alignment(from)); head > 0; --head) copy_byte();
  while (end - from > line_bytes) {
    for (std::size_t i = 0; i < words_of_line; ++i, to += sizeof(Word)) {
      const Word word = next_word();
      std::memcpy(to, &word, sizeof word);
    }
  }
  while (end - from >= static_cast<std::ptrdiff_t>(sizeof(Word))) {
    const Word word = next_word();
    if (from == end) {
      constexpr std::size_t before_last = sizeof word - 1;
      std::memcpy(to, &word, before_last);
      store_byte(to + before_last, reinterpret_cast<const std::byte*>(&word)[before_last],
                 std::memory_order_release);
    } else {
      std::memcpy(to, &word, sizeof word);
    }
    to += sizeof word;
  }
  while (from != end) copy_byte();
}

void gather_segments(std::byte* to, const Segment* from, std::size_t skip_bytes, std::size_t bytes) {
  for (; bytes > 0; ++from) {
    if (skip_bytes >= from->length_bytes) {
      skip_bytes -= from->length_bytes;
      continue;
    }
    const std::size_t taken = std::min<std::size_t>(bytes, from->length_bytes - skip_bytes);
    copy_private(to, from->address + skip_bytes, taken);
    to += taken;
    bytes -= taken;
    skip_bytes = 0;
  }
}

void copy_segments(CopyFunction copy, const Segment* to, std::size_t skip_bytes, const Segment* from,
                   std::uint32_t from_count) {
  while (skip_bytes > 0 && skip_bytes >= to->length_bytes) {
    skip_bytes -= to->length_bytes;
    ++to;
  }
  std::size_t filled = skip_bytes;  // of the current target segment
  for (const Segment* const end = from + from_count; from != end; ++from) {
    for (std::size_t taken = 0; taken < from->length_bytes;) {
      if (filled == to->length_bytes) {
        ++to;
        filled = 0;
        continue;
      }
      const std::size_t bytes = std::min<std::size_t>(from->length_bytes - taken, to->length_bytes - filled);
      copy(to->address + filled, from->address + taken, bytes);
      taken += bytes;
      filled += bytes;
    }
  }
}

}  // namespace rkv::soft
