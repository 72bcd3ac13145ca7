#include "backends/sim/port/sim_memory_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

namespace rkv::sim {

SimMemoryRegion::SimMemoryRegion(Card& card, std::size_t bytes, bool exposed)
    : card_(card), page_bytes_(card.page_bytes()), first_page_(card.reserve_pages(bytes)) {
  if (bytes == 0) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(fmt::format("simulated region of {} bytes: mmap: {}", bytes, std::strerror(errno)));
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  if (exposed) remote_ = card.expose(bytes_, first_page_);
}

RemoteMemory SimMemoryRegion::remote() const {
  if (!remote_) throw Error("simulated region: it is not exposed to peers");
  return *remote_;
}

SimMemoryRegion::~SimMemoryRegion() {
  if (remote_) card_.hide(*remote_);
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace rkv::sim
