#include "backends/verbs/port/memory_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

VerbsMemoryRegion::VerbsMemoryRegion(ibv_pd* domain, std::string_view device, std::size_t bytes,
                                     unsigned peer_access)
    : exposed_(peer_access != 0) {
  const std::string where = fmt::format("{}: region of {} bytes", device, bytes);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_error(where, "mmap", errno);
  registration_ = ::ibv_reg_mr(domain, memory, bytes, static_cast<int>(IBV_ACCESS_LOCAL_WRITE | peer_access));
  if (registration_ == nullptr) {
    const int failure = errno;
    ::munmap(memory, bytes);
    throw system_error(where, "ibv_reg_mr", failure);
  }
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

VerbsMemoryRegion::~VerbsMemoryRegion() {
  // Memory that could not be deregistered stays mapped: the device may still write to it.
  if (::ibv_dereg_mr(registration_) == 0) ::munmap(bytes_.data(), bytes_.size());
}

RemoteMemory VerbsMemoryRegion::remote() const {
  if (!exposed_) throw Error("region: it is not exposed to peers");
  return {.address = reinterpret_cast<std::uintptr_t>(bytes_.data()), .key = registration_->rkey};
}

}  // namespace rkv::verbs
