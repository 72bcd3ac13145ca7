// Registered memory: anonymous pages, zeroed, that the device may read and write locally.
#pragma once

#include <infiniband/verbs.h>

#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsMemoryRegion final : public MemoryRegion {
 public:
  // Throws rkv::Error.
  VerbsMemoryRegion(ibv_pd* domain, std::string_view device, std::size_t bytes);
  VerbsMemoryRegion(const VerbsMemoryRegion&) = delete;
  VerbsMemoryRegion& operator=(const VerbsMemoryRegion&) = delete;
  ~VerbsMemoryRegion() override;

  [[nodiscard]] std::uint32_t local_key() const { return registration_->lkey; }

 private:
  ibv_mr* registration_ = nullptr;
};

}  // namespace rkv::verbs
