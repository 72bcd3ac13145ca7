#include "backends/sim/port/sim_memory_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "backends/sim/cpu/thread.hpp"
#include "core/error.hpp"

namespace rkv::sim {

SimMemoryRegion::SimMemoryRegion(World& world, Card& card, std::size_t bytes,
                                 std::optional<PeerAccess> exposed)
    : world_(world), card_(card), address_(card.reserve_addresses(bytes)) {
  if (bytes == 0) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(fmt::format("simulated region of {} bytes: mmap: {}", bytes, std::strerror(errno)));
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
  if (exposed) remote_ = card.expose(bytes_, address_, *exposed);
}

RemoteMemory SimMemoryRegion::remote() const {
  if (!remote_) throw Error("simulated region: it is not exposed to peers");
  return *remote_;
}

void SimMemoryRegion::publish(std::uint32_t offset, std::span<const std::byte> bytes) {
  if (free_publications_.empty()) {
    free_publications_.push_back(static_cast<std::uint32_t>(publications_.size()));
    publications_.emplace_back();
  }
  const std::uint32_t number = free_publications_.back();
  free_publications_.pop_back();
  Publication& publication = publications_[number];
  publication.offset = offset;
  publication.bytes.assign(bytes.begin(), bytes.end());
  world_.current()->record(*this, number);
}

void SimMemoryRegion::on_event(std::uint64_t number) {
  const Publication& publication = publications_[number];
  copy_words(bytes_.subspan(publication.offset, publication.bytes.size()), publication.bytes);
  free_publications_.push_back(static_cast<std::uint32_t>(number));
}

SimMemoryRegion::~SimMemoryRegion() {
  if (remote_) card_.hide(*remote_);
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace rkv::sim
