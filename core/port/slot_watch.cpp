#include "core/port/slot_watch.hpp"

#include "core/error.hpp"
#include "core/port/device.hpp"

namespace rkv {
namespace {

// Looked at before anything is made for so many slots.
std::span<const std::byte> memory_of(const SlotRange& range) {
  const std::span<const std::byte> region = range.region->bytes();
  const std::size_t bytes = std::size_t{range.slot_bytes} * range.count;
  if (range.count == 0 || range.slot_bytes < frame_bytes(0) || range.slot_bytes % 8 != 0 ||
      range.offset % 8 != 0 || range.offset > region.size() || region.size() - range.offset < bytes) {
    throw Error("slot watch: the slots do not lie in their region");
  }
  return region.subspan(range.offset, bytes);
}

}  // namespace

SlotWatch::SlotWatch(const SlotRange& range)
    : memory_(memory_of(range)), slot_bytes_(range.slot_bytes), check_(range.check), seen_(range.count) {}

}  // namespace rkv
