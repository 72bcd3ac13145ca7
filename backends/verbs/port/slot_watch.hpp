// Slots in this process's memory, looked at by the thread that waits for them.
#pragma once

#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsSlotWatch final : public SlotWatch {
 public:
  explicit VerbsSlotWatch(const SlotRange& range) : SlotWatch(range) {}

  // Gives slots with news, from behind the last one on that was given.
  std::uint32_t take(std::span<Completion> out) {
    std::uint32_t given = 0;
    std::uint32_t slot = next_;
    for (std::uint32_t i = 0; i < count() && given < out.size(); ++i) {
      if (slot >= count()) slot = 0;
      if (const FrameWord word = news(slot); word != 0) {
        out[given++] = {.id = slot, .bytes = message_bytes_of(word)};
        next_ = slot + 1;
      }
      ++slot;
    }
    return given;
  }

 private:
  std::uint32_t next_ = 0;
};

}  // namespace rkv::verbs
