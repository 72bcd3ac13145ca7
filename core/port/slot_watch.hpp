// A look at slots of exposed memory that peers WRITE frames into (slot_frame.hpp): a source of wait sets.
//
// One thread at a time. Made by a Device; the region must outlive it, and it the wait sets that it is in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/port/slot_frame.hpp"

namespace rkv {

class MemoryRegion;

// Slots that lie one behind the other.
struct SlotRange {
  const MemoryRegion* region = nullptr;  // exposed
  std::uint32_t offset = 0;              // of the first; a multiple of 8, as is slot_bytes
  std::uint32_t slot_bytes = 0;
  std::uint32_t count = 0;
  FrameCheck check = FrameCheck::words;  // of the frames that come: one that does not pass is not there yet
};

class SlotWatch {
 public:
  virtual ~SlotWatch() = default;

  [[nodiscard]] std::span<const std::byte> slot(std::uint32_t number) const {
    return memory_.subspan(std::size_t{number} * slot_bytes_, slot_bytes_);
  }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(seen_.size()); }

  // The frame in this slot if it is whole by its words and later than those that were taken, else 0.
  [[nodiscard]] FrameWord arrived(std::uint32_t number) const {
    const FrameWord word = whole_frame(slot(number));
    return word > seen_[number] ? word : 0;
  }
  // The same if also its checksum is right, where frames have one.
  [[nodiscard]] FrameWord news(std::uint32_t number) const {
    const FrameWord word = arrived(number);
    return word == 0 || check_ == FrameCheck::words || checksum_is_right(slot(number), word) ? word : 0;
  }
  // Up to this frame nothing in the slot is news any more.
  void took(std::uint32_t number, FrameWord word) { seen_[number] = word; }

 protected:
  explicit SlotWatch(const SlotRange& range);

 private:
  std::span<const std::byte> memory_;
  std::uint32_t slot_bytes_;
  FrameCheck check_;
  std::vector<FrameWord> seen_;
};

}  // namespace rkv
