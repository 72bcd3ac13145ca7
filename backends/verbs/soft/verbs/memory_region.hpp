// Memory regions and the table that work requests look keys up in.
//
// Keys hold a table index and random bits, so that a stale or guessed key finds nothing. One key serves as
// lkey and as rkey; what it may be used for is decided by the region's access flags.
//
// Thread-safety: find() takes no lock. It may only be called, and its result only used, by a thread that
// holds the send lock of some queue pair or the wire's: removal and change first hide the region and then
// wait for every such holder (QueuePairTable::wait_for_data_path), so that no byte moves through a key after
// ibv_dereg_mr returned.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "backends/verbs/soft/verbs/protection_domain.hpp"

namespace rkv::soft {

struct MemoryRegion {
  ibv_mr ibv;  // first
  unsigned access;
  std::uint64_t iova;

  static MemoryRegion* from(ibv_mr* mr) { return reinterpret_cast<MemoryRegion*>(mr); }
};

struct alignas(64) KeyEntry {
  std::atomic<std::uint32_t> key{0};  // 0: unused or hidden
  unsigned access = 0;
  std::uint64_t iova = 0;
  std::uint64_t length_bytes = 0;
  std::byte* base = nullptr;
  const ProtectionDomain* pd = nullptr;

  // Where [address, address + bytes) lies, or null when the key, the domain, the rights or the bounds forbid
  // it.
  std::byte* resolve(const ProtectionDomain* domain, std::uint64_t address, std::uint64_t bytes,
                     unsigned required_access) const {
    const std::uint64_t offset = address - iova;
    if (pd != domain || (access & required_access) != required_access || address < iova ||
        offset > length_bytes || bytes > length_bytes - offset) {
      return nullptr;
    }
    return base + offset;
  }
};

class KeyTable {
 public:
  static KeyTable& instance();

  // The key, or 0 when all are in use.
  std::uint32_t insert(const MemoryRegion& region);
  // The region can't be found any more; users may remain until the data path has been waited for.
  void hide(std::uint32_t key);
  // Only after hide() and a wait for the data path.
  void change(std::uint32_t key, const MemoryRegion& region);
  void release(std::uint32_t key);

  std::byte* find(std::uint32_t key, const ProtectionDomain* domain, std::uint64_t address,
                  std::uint64_t bytes, unsigned required_access) const {
    const KeyEntry& entry = entries_[index_of(key)];
    if (entry.key.load(std::memory_order_acquire) != key || key == 0) {
      return nullptr;
    }
    return entry.resolve(domain, address, bytes, required_access);
  }

 private:
  static constexpr std::uint32_t index_bits = 16;
  static constexpr std::uint32_t index_mask = (1U << index_bits) - 1;

  KeyTable();
  std::uint32_t index_of(std::uint32_t key) const { return (key ^ secret_) & index_mask; }
  void publish(std::uint32_t key, const MemoryRegion& region);

  std::array<KeyEntry, 1U << index_bits> entries_;
  std::random_device random_;  // guarded by the mutex once constructed
  std::uint32_t secret_;
  std::mutex mutex_;  // guards the rest
  std::vector<std::uint32_t> free_;
  std::uint32_t next_unused_ = 0;
};

}  // namespace rkv::soft
