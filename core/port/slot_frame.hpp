// How a message lies in a slot of memory that a peer WRITEs or READs, so that a torn or stale one is never
// taken for a whole one:
//
//   0    word      sequence << 24 | message bytes; grows with every message of the slot
//   8    checksum  CRC-32 of the word and the message, where the scenario needs one, else 0; 4 bytes unused
//   16   message, filled up to whole words
//   ...  word      again
//
// A frame is whole when both words are equal. That is enough where the peer's WRITE places it: bytes are
// placed in ascending order, and the eight bytes of a word at once. InfiniBand does not promise it (vol.
// 1, 9.5, Transaction Ordering, leaves the order within a message open), but HERD, FaRM and others rely on it
// and RNICs, the kernel's Soft-RoCE and soft0 do so. Whoever READs the slot while its owner writes, or gets
// WRITEs out of order from a transport that loses messages, compares the checksum, too.
//
// Slots start at multiples of eight bytes and are zero before the first message. Words are read and written
// atomically, so that a peer that writes meanwhile is no data race. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rkv {

enum class FrameCheck : std::uint8_t { words, checksum };

// Of a frame: 0 is none, and a later one of a slot is greater.
using FrameWord = std::uint64_t;

inline constexpr std::uint32_t frame_header_bytes = 16;
inline constexpr std::uint32_t frame_message_limit_bytes = (1U << 24) - 1;

[[nodiscard]] constexpr std::uint32_t frame_bytes(std::uint32_t message_bytes) {
  constexpr std::uint32_t word = sizeof(FrameWord);
  return frame_header_bytes + (message_bytes + word - 1) / word * word + word;
}
[[nodiscard]] constexpr FrameWord frame_word(std::uint64_t sequence, std::uint32_t message_bytes) {
  return sequence << 24 | message_bytes;
}
[[nodiscard]] constexpr std::uint32_t message_bytes_of(FrameWord word) {
  return static_cast<std::uint32_t>(word) & frame_message_limit_bytes;
}

// Makes a frame of the message that lies in memory of the caller's own, frame_header_bytes behind its start,
// and says how many bytes it has. sequence: from 1 on, below 2^40.
std::uint32_t seal_frame(std::span<std::byte> frame, std::uint64_t sequence, std::uint32_t message_bytes,
                         FrameCheck check);

// The word of the frame in this slot if it is whole, by what its words say, else 0.
[[nodiscard]] FrameWord whole_frame(std::span<const std::byte> slot);

// Whether the checksum of a frame that was whole is right, so that nothing of it is still to come.
[[nodiscard]] bool checksum_is_right(std::span<const std::byte> slot, FrameWord word);

// Copies the message of a frame that was whole out of its slot, and says how many bytes it has: nothing if it
// does not fit `out` or has been overwritten since or, by its checksum, was never right.
[[nodiscard]] std::optional<std::uint32_t> take_frame(std::span<const std::byte> slot, FrameWord word,
                                                      FrameCheck check, std::span<std::byte> out);

// Copies whole words to where a peer may READ, or another thread look: in ascending order, the last one after
// all others.
void copy_words(std::span<std::byte> to, std::span<const std::byte> from);

}  // namespace rkv
