// Memory that a simulated card reads and writes: real bytes, and simulated pages for its translation cache.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/sim/nic/card.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimMemoryRegion final : public MemoryRegion {
 public:
  // Exposed: peers may read and write it. Throws rkv::Error.
  SimMemoryRegion(Card& card, std::size_t bytes, bool exposed);
  SimMemoryRegion(const SimMemoryRegion&) = delete;
  SimMemoryRegion& operator=(const SimMemoryRegion&) = delete;
  ~SimMemoryRegion() override;

  [[nodiscard]] RemoteMemory remote() const override;

  // Whether so many bytes from the offset on lie in it.
  [[nodiscard]] bool holds(std::uint32_t offset, std::uint32_t length) const {
    return std::uint64_t{offset} + length <= bytes_.size();
  }
  [[nodiscard]] std::uint64_t page(std::uint32_t offset) const { return first_page_ + offset / page_bytes_; }

 private:
  Card& card_;
  const std::uint64_t page_bytes_;
  const std::uint64_t first_page_;
  std::optional<RemoteMemory> remote_;
};

}  // namespace rkv::sim
