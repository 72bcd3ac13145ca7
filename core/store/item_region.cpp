#include "core/store/item_region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/error.hpp"

namespace rkv {
namespace {

constexpr std::uint64_t last_sequence = (std::uint64_t{1} << 40) - 1;

void append(std::span<std::byte>& to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  to = to.subspan(bytes.size());
}

}  // namespace

std::uint32_t ItemRegion::place_bytes(std::uint32_t key_and_value_bytes) {
  constexpr std::uint32_t limit_bytes = frame_message_limit_bytes - sizeof(ItemKeyLength);
  if (key_and_value_bytes > limit_bytes) {
    throw InputError(fmt::format("items of {} bytes of key and value: at most {} can be read in one piece",
                                 key_and_value_bytes, limit_bytes));
  }
  return frame_bytes(key_and_value_bytes + sizeof(ItemKeyLength));
}

ItemRegion::ItemRegion(Runtime& runtime, MemoryRegion& memory, std::uint32_t key_and_value_limit_bytes)
    : memory_(memory), place_bytes_(place_bytes(key_and_value_limit_bytes)), mutex_(runtime.make_mutex()) {
  const auto bytes =
      std::min<std::uint64_t>(memory.bytes().size(), std::numeric_limits<std::uint32_t>::max());
  ring_.resize(bytes / place_bytes_);
  if (ring_.empty()) {
    throw InputError(
        fmt::format("memory for items: an item takes {} bytes, there are {}", place_bytes_, bytes));
  }
  for (std::uint32_t i = 0; i < places(); ++i) ring_[i] = i * place_bytes_;
  given_back_ = ring_.size();
}

std::optional<ItemPointer> ItemRegion::place(std::span<const std::byte> key, std::span<const std::byte> value,
                                             std::span<std::byte> scratch) {
  const std::uint64_t message_bytes = sizeof(ItemKeyLength) + key.size() + value.size();
  if (message_bytes > frame_message_limit_bytes) return std::nullopt;
  const auto length = static_cast<std::uint32_t>(message_bytes);
  if (frame_bytes(length) > place_bytes_) return std::nullopt;

  ItemPointer pointer;
  std::uint64_t sequence = 0;
  {
    const std::lock_guard guard(*mutex_);
    if (taken_ == given_back_ || taken_ == last_sequence) return std::nullopt;
    pointer.offset = ring_[taken_ % ring_.size()];
    sequence = ++taken_;
  }
  pointer.word = frame_word(sequence, length);

  const auto key_bytes = static_cast<ItemKeyLength>(key.size());
  std::span<std::byte> message = scratch.subspan(frame_header_bytes);
  append(message, std::as_bytes(std::span(&key_bytes, 1)));
  append(message, key);
  append(message, value);
  const std::uint32_t bytes = seal_frame(scratch, sequence, length, FrameCheck::checksum);
  memory_.publish(pointer.offset, scratch.first(bytes));
  return pointer;
}

void ItemRegion::retire(const ItemPointer& pointer) {
  constexpr std::array<std::byte, sizeof(FrameWord)> none{};
  memory_.publish(pointer.offset, none);
  // The last word, too: a shorter item that comes here would leave it standing.
  memory_.publish(pointer.offset + item_bytes(pointer) - static_cast<std::uint32_t>(none.size()), none);
  const std::lock_guard guard(*mutex_);
  ring_[given_back_ % ring_.size()] = pointer.offset;
  ++given_back_;
}

}  // namespace rkv
