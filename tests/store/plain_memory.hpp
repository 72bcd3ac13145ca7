// Exposed memory without a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/port/device.hpp"
#include "core/port/slot_frame.hpp"

namespace rkv::test {

class PlainMemory final : public MemoryRegion {
 public:
  explicit PlainMemory(std::size_t bytes) : words_(bytes / sizeof(std::uint64_t)) {
    bytes_ = std::as_writable_bytes(std::span(words_));
  }
  [[nodiscard]] RemoteMemory remote() const override { return {}; }
  void publish(std::uint32_t offset, std::span<const std::byte> bytes) override {
    copy_words(bytes_.subspan(offset), bytes);
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace rkv::test
