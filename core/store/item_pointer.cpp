#include "core/store/item_pointer.hpp"

#include <algorithm>
#include <cstring>

namespace rkv {

static_assert(item_pointer_bytes == sizeof(ItemPointer::offset) + sizeof(ItemPointer::word));

void write_item_pointer(std::span<std::byte> to, const ItemPointer& pointer) {
  std::memcpy(to.data(), &pointer.offset, sizeof pointer.offset);
  std::memcpy(to.data() + sizeof pointer.offset, &pointer.word, sizeof pointer.word);
}

std::optional<ItemPointer> read_item_pointer(std::span<const std::byte> from) {
  if (from.size() != item_pointer_bytes) return std::nullopt;
  ItemPointer pointer;
  std::memcpy(&pointer.offset, from.data(), sizeof pointer.offset);
  std::memcpy(&pointer.word, from.data() + sizeof pointer.offset, sizeof pointer.word);
  if (pointer.word == 0) return std::nullopt;
  return pointer;
}

std::optional<std::span<const std::byte>> value_of_item(std::span<const std::byte> read,
                                                        const ItemPointer& pointer,
                                                        std::span<const std::byte> key) {
  if (pointer.word == 0 || read.size() < item_bytes(pointer)) return std::nullopt;
  if (whole_frame(read) != pointer.word || !checksum_is_right(read, pointer.word)) return std::nullopt;
  const auto message = read.subspan(frame_header_bytes, message_bytes_of(pointer.word));
  ItemKeyLength key_bytes = 0;
  if (message.size() < sizeof key_bytes) return std::nullopt;
  std::memcpy(&key_bytes, message.data(), sizeof key_bytes);
  const auto key_and_value = message.subspan(sizeof key_bytes);
  if (key_bytes != key.size() || key_and_value.size() < key_bytes) return std::nullopt;
  if (!std::equal(key.begin(), key.end(), key_and_value.begin())) return std::nullopt;
  return key_and_value.subspan(key_bytes);
}

}  // namespace rkv
