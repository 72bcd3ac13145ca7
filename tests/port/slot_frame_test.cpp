// Frames in slots: what lies where, and that no mixture of two of them, nor anything else, is taken for a
// message.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/port/slot_frame.hpp"

namespace rkv {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::size_t slot_bytes = 512;

// Aligned like a slot.
struct Slot {
  alignas(64) std::array<std::byte, slot_bytes> bytes{};
};

std::vector<std::byte> random_message(std::mt19937_64& chance, std::size_t most = slot_bytes - 24) {
  std::vector<std::byte> message(chance() % (most + 1));
  for (std::byte& byte : message) byte = static_cast<std::byte>(chance());
  return message;
}

std::vector<std::byte> frame_of(const std::vector<std::byte>& message, std::uint64_t sequence,
                                FrameCheck check) {
  const auto bytes = static_cast<std::uint32_t>(message.size());
  std::vector<std::byte> frame(frame_bytes(bytes), std::byte{0xaa});
  std::copy(message.begin(), message.end(), frame.begin() + frame_header_bytes);
  CHECK(seal_frame(frame, sequence, bytes, check) == frame.size());
  return frame;
}

// What lies in the slot: nothing, or a message.
std::optional<std::vector<std::byte>> message_in(const Slot& slot, FrameCheck check) {
  const FrameWord word = whole_frame(slot.bytes);
  if (word == 0) return std::nullopt;
  std::vector<std::byte> message(slot_bytes);
  const auto bytes = take_frame(slot.bytes, word, check, message);
  if (!bytes) return std::nullopt;
  message.resize(*bytes);
  return message;
}

TEST_CASE("a frame is its word, its checksum, its message and its word again", "[frame]") {
  std::vector<std::byte> frame(40, std::byte{0xff});
  const char text[] = "abcdefghi";
  std::memcpy(frame.data() + frame_header_bytes, text, 9);
  REQUIRE(seal_frame(frame, 3, 9, FrameCheck::checksum) == 40);
  const auto at = [&](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, frame.data() + offset, sizeof value);
    return value;
  };
  CHECK(at(0) == 0x3000009);
  // python3 -c "import zlib; print(hex(zlib.crc32((0x3000009).to_bytes(8, 'little') + b'abcdefghi')))"
  CHECK(at(8) == 0xbf98ccba);
  CHECK(at(24) == 'i');  // and zeros
  CHECK(at(32) == 0x3000009);
  REQUIRE(seal_frame(frame, 3, 9, FrameCheck::words) == 40);
  CHECK(at(8) == 0);
}

TEST_CASE("a message of any size comes out of its slot as it went in", "[frame]") {
  std::mt19937_64 chance(1);
  for (int i = 0; i < 2000; ++i) {
    const FrameCheck check = chance() % 2 == 0 ? FrameCheck::words : FrameCheck::checksum;
    const std::vector<std::byte> message = random_message(chance);
    Slot slot;
    copy_words(slot.bytes, frame_of(message, 1 + chance() % (1ULL << 40), check));
    REQUIRE(message_in(slot, check) == message);
  }
}

TEST_CASE("a frame that arrives in ascending order is not there before its last word", "[frame]") {
  std::mt19937_64 chance(2);
  for (int i = 0; i < 300; ++i) {
    Slot slot;
    copy_words(slot.bytes, frame_of(random_message(chance), 7, FrameCheck::words));
    const std::vector<std::byte> message = random_message(chance);
    const std::vector<std::byte> frame = frame_of(message, 8, FrameCheck::words);
    for (std::size_t at = 0; at < frame.size(); at += word_bytes) {
      if (at > 0) REQUIRE_FALSE(message_in(slot, FrameCheck::words).has_value());
      copy_words(std::span(slot.bytes).subspan(at), std::span(frame).subspan(at, word_bytes));
    }
    REQUIRE(message_in(slot, FrameCheck::words) == message);
  }
}

TEST_CASE("with a checksum no order of arrival makes another message", "[frame]") {
  std::mt19937_64 chance(3);
  for (int i = 0; i < 300; ++i) {
    Slot slot;
    const std::vector<std::byte> before = random_message(chance);
    copy_words(slot.bytes, frame_of(before, 7, FrameCheck::checksum));
    // Often of the same size, where only a part of the words differs.
    const std::vector<std::byte> message = chance() % 2 == 0 ? random_message(chance) : before;
    const std::vector<std::byte> frame = frame_of(message, 8, FrameCheck::checksum);
    std::vector<std::size_t> order(frame.size() / word_bytes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), chance);
    for (const std::size_t word : order) {
      copy_words(std::span(slot.bytes).subspan(word * word_bytes),
                 std::span(frame).subspan(word * word_bytes, word_bytes));
      const auto found = message_in(slot, FrameCheck::checksum);
      if (found && whole_frame(slot.bytes) >> 24 == 8) {
        REQUIRE(*found == message);
      } else if (found) {
        REQUIRE(*found == before);
      }
    }
    REQUIRE(message_in(slot, FrameCheck::checksum) == message);
  }
}

TEST_CASE("whatever lies in a slot, nothing beyond it or beyond the caller's room is touched", "[frame]") {
  std::mt19937_64 chance(4);
  for (int i = 0; i < 20'000; ++i) {
    Slot slot;
    for (std::byte& byte : slot.bytes) byte = static_cast<std::byte>(chance());
    // Words that agree, of any length that 24 bits can say or one that fits.
    const auto length = static_cast<std::uint32_t>(chance() % (chance() % 2 == 0 ? 1U << 24 : slot_bytes));
    const FrameWord word = frame_word(5, length);
    std::memcpy(slot.bytes.data(), &word, sizeof word);
    if (frame_bytes(length) <= slot_bytes) {
      std::memcpy(slot.bytes.data() + frame_bytes(length) - word_bytes, &word, sizeof word);
      CHECK(whole_frame(slot.bytes) == word);
    } else {
      CHECK(whole_frame(slot.bytes) == 0);
    }
    std::vector<std::byte> room(chance() % slot_bytes);
    const auto bytes = take_frame(slot.bytes, word, FrameCheck::words, room);
    CHECK(bytes.has_value() == (length <= room.size() && frame_bytes(length) <= slot_bytes));
    CHECK_FALSE(take_frame(slot.bytes, word, FrameCheck::checksum, room).has_value());
  }
}

}  // namespace
}  // namespace rkv
