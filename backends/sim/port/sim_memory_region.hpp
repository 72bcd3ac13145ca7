// Memory that a simulated card reads and writes: real bytes, at simulated addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sim/nic/card.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimMemoryRegion final : public MemoryRegion, private EventHandler {
 public:
  // exposed: what peers may do with it. Throws rkv::Error.
  SimMemoryRegion(World& world, Card& card, std::size_t bytes, std::optional<PeerAccess> exposed);
  SimMemoryRegion(const SimMemoryRegion&) = delete;
  SimMemoryRegion& operator=(const SimMemoryRegion&) = delete;
  ~SimMemoryRegion() override;

  [[nodiscard]] RemoteMemory remote() const override;
  void publish(std::uint32_t offset, std::span<const std::byte> bytes) override;

  // Whether so many bytes from the offset on lie in it.
  [[nodiscard]] bool holds(std::uint32_t offset, std::uint32_t length) const {
    return std::uint64_t{offset} + length <= bytes_.size();
  }
  [[nodiscard]] std::uint64_t address(std::uint32_t offset) const { return address_ + offset; }

 private:
  // Bytes on their way from a thread's record of what it does to memory.
  struct Publication {
    std::uint32_t offset = 0;
    std::vector<std::byte> bytes;
  };
  void on_event(std::uint64_t publication) override;

  World& world_;
  Card& card_;
  const std::uint64_t address_;  // for the card
  std::optional<RemoteMemory> remote_;
  std::vector<Publication> publications_;  // used again
  std::vector<std::uint32_t> free_publications_;
};

}  // namespace rkv::sim
