// Memory that a simulated card reads and writes: real bytes, and simulated pages for its translation cache.
#pragma once

#include <cstdint>

#include "backends/sim/nic/card.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimMemoryRegion final : public MemoryRegion {
 public:
  // Throws rkv::Error.
  SimMemoryRegion(Card& card, std::size_t bytes);
  SimMemoryRegion(const SimMemoryRegion&) = delete;
  SimMemoryRegion& operator=(const SimMemoryRegion&) = delete;
  ~SimMemoryRegion() override;

  // Whether so many bytes from the offset on lie in it.
  [[nodiscard]] bool holds(std::uint32_t offset, std::uint32_t length) const {
    return std::uint64_t{offset} + length <= bytes_.size();
  }
  [[nodiscard]] std::uint64_t page(std::uint32_t offset) const { return first_page_ + offset / page_bytes_; }

 private:
  const std::uint64_t page_bytes_;
  const std::uint64_t first_page_;
};

}  // namespace rkv::sim
