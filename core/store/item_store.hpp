// A table whose items clients READ for themselves, once they know where they lie: the HydraDB-like store of
// Hemmatpour et al. (2018), after Wang et al., "HydraDB: a resilient RDMA-driven key-value middleware for
// in-memory cluster computing" (SC 2015). Keys and where their items lie are in hash tables of its own, the
// items in exposed memory (item_region.hpp says in which order an update goes on, and why).
//
// Locks: one of the runtime's for each of 256 parts of the keys, held by every operation on a key of the
// part, and the region's. A GET or LOCATE therefore finds no item that is being replaced.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/port/device.hpp"
#include "core/store/blob.hpp"
#include "core/store/item_region.hpp"
#include "core/store/key_table.hpp"
#include "core/store/memory_budget.hpp"
#include "core/store/store.hpp"

namespace rkv {

class ItemStore final : public Store {
 public:
  // The exposed memory that so many items take, with room for those that replace them.
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t items, std::uint32_t key_and_value_bytes);

  // Items of up to key_and_value_limit_bytes lie in `memory`, of which nothing behind 4 GiB is used; a SET of
  // what has no room there answers store_error. The runtime outlives the store. Throws InputError when the
  // memory alone passes max_bytes.
  ItemStore(Runtime& runtime, std::unique_ptr<MemoryRegion> memory, std::uint32_t key_and_value_limit_bytes,
            std::uint64_t max_bytes);

  GetResult get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) override;
  GetResult locate(std::span<const std::byte> key, std::span<std::byte> pointer_out, Work& work) override;
  ResponseCode set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) override;
  ResponseCode del(std::span<const std::byte> key, Work& work) override;
  void reset() override;
  [[nodiscard]] std::uint64_t entries() const override { return entries_.load(std::memory_order_relaxed); }
  [[nodiscard]] RemoteMemory items() const override { return memory_->remote(); }

 private:
  using Table = std::unordered_map<Blob, ItemPointer, KeyHash, KeyEqual>;
  struct Part {
    std::unique_ptr<Mutex> mutex;  // of all below
    Table table;
    std::vector<std::byte> scratch;
  };

  [[nodiscard]] Part& part_of(std::span<const std::byte> key) {
    return parts_[KeyHash{}(key) % parts_.size()];
  }
  // Where the key's item lies, found under its part's lock.
  [[nodiscard]] Table::iterator find(Part& part, std::span<const std::byte> key, Work& work);
  [[nodiscard]] std::optional<ItemPointer> place(Part& part, std::span<const std::byte> key,
                                                 std::span<const std::byte> value, Work& work);
  ResponseCode insert(Part& part, std::span<const std::byte> key, std::span<const std::byte> value,
                      Work& work);

  Runtime& runtime_;
  MemoryBudget budget_;
  std::unique_ptr<MemoryRegion> memory_;
  ItemRegion region_;
  std::atomic<std::uint64_t> entries_{0};
  std::array<Part, 256> parts_;
};

}  // namespace rkv
