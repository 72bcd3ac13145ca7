// Leaving a frame where a peer READs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/port/device.hpp"
#include "core/port/runtime.hpp"

namespace rkv {

// In two pieces, each paid for before it is there, as a copy takes its time: a READ in between finds the
// frame torn.
inline void publish_frame(Runtime& runtime, MemoryRegion& region, std::uint32_t offset,
                          std::span<const std::byte> frame) {
  const std::size_t half = frame.size() / 16 * 8;
  runtime.charge({.bytes_copied = half});
  region.publish(offset, frame.first(half));
  runtime.charge({.bytes_copied = frame.size() - half});
  region.publish(offset + static_cast<std::uint32_t>(half), frame.subspan(half));
}

}  // namespace rkv
