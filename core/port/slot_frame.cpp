#include "core/port/slot_frame.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace rkv {
namespace {

constexpr std::size_t word_bytes = sizeof(FrameWord);

// Atomic reads do not change what they read, but std::atomic_ref wants to be able to.
std::atomic_ref<std::uint64_t> word_at(std::span<const std::byte> memory, std::size_t offset) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(memory.data() + offset)));
}

std::uint32_t crc(std::uint32_t before, const void* bytes, std::size_t count) {
  return crc32_gzip_refl(before, static_cast<const unsigned char*>(bytes), count);
}

std::uint32_t checksum(FrameWord word, std::span<const std::byte> message) {
  return crc(crc(0, &word, sizeof word), message.data(), message.size());
}

}  // namespace

std::uint32_t seal_frame(std::span<std::byte> frame, std::uint64_t sequence, std::uint32_t message_bytes,
                         FrameCheck check) {
  const FrameWord word = frame_word(sequence, message_bytes);
  const std::uint32_t bytes = frame_bytes(message_bytes);
  const std::uint64_t sum =
      check == FrameCheck::checksum ? checksum(word, frame.subspan(frame_header_bytes, message_bytes)) : 0;
  const std::array<std::uint64_t, 2> header{word, sum};
  std::memcpy(frame.data(), header.data(), frame_header_bytes);
  // So that the frame's bytes depend on nothing but its message.
  std::memset(frame.data() + frame_header_bytes + message_bytes, 0,
              bytes - word_bytes - frame_header_bytes - message_bytes);
  std::memcpy(frame.data() + bytes - word_bytes, &word, word_bytes);
  return bytes;
}

FrameWord whole_frame(std::span<const std::byte> slot) {
  const FrameWord word = word_at(slot, 0).load(std::memory_order_acquire);
  const std::uint32_t bytes = frame_bytes(message_bytes_of(word));
  if (word == 0 || bytes > slot.size()) return 0;
  return word_at(slot, bytes - word_bytes).load(std::memory_order_acquire) == word ? word : 0;
}

bool checksum_is_right(std::span<const std::byte> slot, FrameWord word) {
  const std::size_t message_bytes = message_bytes_of(word);
  if (frame_bytes(message_bytes_of(word)) > slot.size()) return false;
  const auto sum = static_cast<std::uint32_t>(word_at(slot, word_bytes).load(std::memory_order_relaxed));
  std::uint32_t found = crc(0, &word, sizeof word);
  std::array<std::uint64_t, 64> words;
  for (std::size_t at = 0; at < message_bytes; at += sizeof words) {
    const std::size_t bytes = std::min(sizeof words, message_bytes - at);
    for (std::size_t i = 0; i * word_bytes < bytes; ++i) {
      words[i] = word_at(slot, frame_header_bytes + at + i * word_bytes).load(std::memory_order_relaxed);
    }
    found = crc(found, words.data(), bytes);
  }
  return found == sum;
}

std::optional<std::uint32_t> take_frame(std::span<const std::byte> slot, FrameWord word, FrameCheck check,
                                        std::span<std::byte> out) {
  const std::uint32_t message_bytes = message_bytes_of(word);
  if (message_bytes > out.size() || frame_bytes(message_bytes) > slot.size()) return std::nullopt;
  const auto sum = static_cast<std::uint32_t>(word_at(slot, word_bytes).load(std::memory_order_relaxed));
  for (std::size_t at = 0; at < message_bytes; at += word_bytes) {
    // With acquire, so that the first word is looked at again after all others.
    const std::uint64_t part = word_at(slot, frame_header_bytes + at).load(std::memory_order_acquire);
    std::memcpy(out.data() + at, &part, std::min<std::size_t>(word_bytes, message_bytes - at));
  }
  if (word_at(slot, 0).load(std::memory_order_relaxed) != word) return std::nullopt;
  if (check == FrameCheck::checksum && sum != checksum(word, out.first(message_bytes))) return std::nullopt;
  return message_bytes;
}

void copy_words(std::span<std::byte> to, std::span<const std::byte> from) {
  for (std::size_t at = 0; at < from.size(); at += word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from.data() + at, word_bytes);
    const bool last = at + word_bytes == from.size();
    word_at(to, at).store(word, last ? std::memory_order_release : std::memory_order_relaxed);
  }
}

}  // namespace rkv
