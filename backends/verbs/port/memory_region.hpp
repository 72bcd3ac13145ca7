// Registered memory: anonymous pages, zeroed, that the device may read and write locally, or for peers, too.
#pragma once

#include <infiniband/verbs.h>

#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsMemoryRegion final : public MemoryRegion {
 public:
  // peer_access: what peers may do (IBV_ACCESS_REMOTE_*); 0: it is not exposed. Throws rkv::Error.
  VerbsMemoryRegion(ibv_pd* domain, std::string_view device, std::size_t bytes, unsigned peer_access);
  VerbsMemoryRegion(const VerbsMemoryRegion&) = delete;
  VerbsMemoryRegion& operator=(const VerbsMemoryRegion&) = delete;
  ~VerbsMemoryRegion() override;

  // Throws rkv::Error when it is not exposed.
  [[nodiscard]] RemoteMemory remote() const override;
  void publish(std::uint32_t offset, std::span<const std::byte> bytes) override {
    copy_words(bytes_.subspan(offset, bytes.size()), bytes);
  }
  [[nodiscard]] std::uint32_t local_key() const { return registration_->lkey; }

 private:
  bool exposed_;
  ibv_mr* registration_ = nullptr;
};

// A part of it, as work requests name it.
[[nodiscard]] inline ibv_sge segment_of(const MemoryRegion& region, std::uint32_t offset,
                                        std::uint32_t length) {
  const auto& its = static_cast<const VerbsMemoryRegion&>(region);
  ibv_sge segment{};
  segment.addr = reinterpret_cast<std::uintptr_t>(its.bytes().data()) + offset;
  segment.length = length;
  segment.lkey = its.local_key();
  return segment;
}

}  // namespace rkv::verbs
