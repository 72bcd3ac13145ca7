// How an item of core/store/item_region.hpp is named to those who READ it, and what they make of what they
// READ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/message/sizes.hpp"
#include "core/port/slot_frame.hpp"

namespace rkv {

// Where an item lies, and how it is told from all others that lay or will lie there.
struct ItemPointer {
  std::uint32_t offset = 0;  // bytes behind the region's start
  FrameWord word = 0;
};

// As a message's item_pointer_bytes, which `to` has room for.
void write_item_pointer(std::span<std::byte> to, const ItemPointer& pointer);
// Nothing if that is no pointer to anything.
[[nodiscard]] std::optional<ItemPointer> read_item_pointer(std::span<const std::byte> from);

// An item's frame has this message: how many bytes its key has, the key, the value.
using ItemKeyLength = std::uint32_t;

// What to READ of an item. A pointer from the network may say anything up to frame_message_limit_bytes.
[[nodiscard]] constexpr std::uint32_t item_bytes(const ItemPointer& pointer) {
  return frame_bytes(message_bytes_of(pointer.word));
}

// The key's value in bytes that were READ from where `pointer` says, or nothing if they are not that item,
// whole and valid at the time: the server has to be asked anew. The result lies in `read`, which starts at a
// multiple of eight bytes and may hold anything.
[[nodiscard]] std::optional<std::span<const std::byte>> value_of_item(std::span<const std::byte> read,
                                                                      const ItemPointer& pointer,
                                                                      std::span<const std::byte> key);

}  // namespace rkv
