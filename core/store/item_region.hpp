// Items, each a key and its value, in memory that clients READ by themselves: who was once told where an item
// lies takes it from there, and learns from what it READs whether it still holds.
//
// Items are never changed in place. An update, under its table's lock of the key,
//   1. places the new item somewhere else,
//   2. retires the old one,
//   3. lets the table name the new one, and then acknowledges.
// In this order no GET returns an older value than one that was acknowledged, or that another GET returned,
// before it began: whoever could have the new value had it after the old one's words were gone.
//
// An item is a frame (core/port/slot_frame.hpp) with a checksum, and its pointer repeats the frame's word,
// which no other item of the region ever has. The first word is the guardian: a READ that found it as the
// pointer says took place, at that moment, while the item was valid. As nothing is valid that is not whole,
// the place of a retired item may be used again at once, without a lease that clients' clocks would have to
// keep:
// - another item there has another word;
// - where a READ overlaps retiring and writing anew, its last word has gone or is another's if the memory is
//   read in ascending order, which nobody promises; in any other order the checksum is wrong, but for one
//   torn READ in 2^32.
// Places are used again in the order in which they were retired, the longest unused one first.
//
// Work is not charged here: a place's copy is its caller's to charge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/port/device.hpp"
#include "core/port/runtime.hpp"
#include "core/store/item_pointer.hpp"

namespace rkv {

class ItemRegion {
 public:
  // What an item takes whose key and value have so many bytes together.
  [[nodiscard]] static std::uint32_t place_bytes(std::uint32_t key_and_value_bytes);

  // Divides the memory, which is zero, into places for items of up to so many bytes of key and value; of
  // memory behind 4 GiB nothing is used. Memory and runtime outlive the region. Throws InputError for items
  // that are too long for a frame, and where not even one has room.
  ItemRegion(Runtime& runtime, MemoryRegion& memory, std::uint32_t key_and_value_limit_bytes);

  // Writes an item, which is valid from now on, and says where: nothing if it is too long, if no place is
  // free or 2^40 items have been placed. `scratch` is the caller's: place_bytes() of the region's limit, free
  // again at once. Any thread.
  [[nodiscard]] std::optional<ItemPointer> place(std::span<const std::byte> key,
                                                 std::span<const std::byte> value,
                                                 std::span<std::byte> scratch);

  // Makes an item that place() gave, and that was not retired yet, invalid, and its place free. READs that
  // begin when it has returned don't find it. Any thread.
  void retire(const ItemPointer& pointer);

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(ring_.size()); }

 private:
  MemoryRegion& memory_;
  const std::uint32_t place_bytes_;
  // Of all below. Not held while memory is written; in simulation taking it lets pass the time that was
  // worked before, so that an item is gone when its place is free.
  std::unique_ptr<Mutex> mutex_;
  std::vector<std::uint32_t> ring_;  // offsets of free places, in the order in which they became free
  std::uint64_t taken_ = 0;          // from the ring, ever: the sequence of the last item
  std::uint64_t given_back_ = 0;     // to the ring, ever, with those that it began with
};

}  // namespace rkv
