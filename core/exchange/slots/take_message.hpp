// Taking a message out of its slot.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/port/runtime.hpp"
#include "core/port/slot_frame.hpp"

namespace rkv {

// Copies the message of a frame that was whole to `place` and charges what was passed over: its copy, its
// checksum, and a watch's own look at that. Nothing: the frame is not there any more, or not whole yet. A
// frame that is longer than any message gives an empty one, which nobody's message is.
[[nodiscard]] inline std::optional<std::span<const std::byte>> take_message(Runtime& runtime,
                                                                            std::span<const std::byte> slot,
                                                                            FrameWord word, FrameCheck check,
                                                                            bool watched,
                                                                            std::span<std::byte> place) {
  if (message_bytes_of(word) > place.size()) return std::span<const std::byte>{};
  const auto bytes = take_frame(slot, word, check, place);
  if (!bytes) return std::nullopt;
  const std::uint64_t checks = check == FrameCheck::words ? 0 : watched ? 2 : 1;
  runtime.charge({.bytes_copied = *bytes * (1 + checks)});
  return place.first(*bytes);
}

}  // namespace rkv
