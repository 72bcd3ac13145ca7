// The table of Troost's benchmark: buckets of linked lists, djb2, new entries at the head.
//
// Locks: a mutex a bucket, held by SET and DEL for their whole walk; a read-write lock an entry, only ever
// tried, and KEY_ERROR when it is not obtained. GET walks without the bucket's mutex.
//
// In the original that walk raced with SET and read entries that DEL had freed. Here links are atomic, a key
// never changes while its entry can be reached, and an entry that DEL has unlinked is freed by a later SET or
// DEL of the same bucket, at a moment when no GET is in the bucket and nobody holds the entry's lock (a
// simulated unlock takes effect later than its call). Until then, or until reset, it counts as used memory,
// so what deleted entries hold is bounded by max_bytes. The price is one counter a bucket that each GET
// raises and lowers.
//
// A walk touches two cache lines an entry, as the original's: the entry and its separately allocated key.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "core/store/blob.hpp"
#include "core/store/locked_value.hpp"
#include "core/store/memory_budget.hpp"
#include "core/store/store.hpp"

namespace rkv {

class ChainedStore final : public Store {
 public:
  // What an entry takes from max_bytes beside the blobs of its key and value.
  static constexpr std::uint64_t entry_bytes = 64;
  // Takes an empty table's bytes from the budget of max_bytes. Throws InputError when they don't fit.
  static void reserve_table(std::uint32_t buckets, std::uint64_t max_bytes, MemoryBudget& budget);

  // Throws InputError when the empty table alone passes max_bytes.
  ChainedStore(std::uint32_t buckets, Runtime& runtime, std::uint64_t max_bytes);
  ~ChainedStore() override;
  ChainedStore(const ChainedStore&) = delete;
  ChainedStore& operator=(const ChainedStore&) = delete;

  GetResult get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) override;
  ResponseCode set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) override;
  ResponseCode del(std::span<const std::byte> key, Work& work) override;
  void reset() override;
  [[nodiscard]] std::uint64_t entries() const override { return entries_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t cache_line_bytes = 64;

  struct alignas(cache_line_bytes) Entry {
    std::atomic<Entry*> next{nullptr};
    Blob key;
    LockedValue value;
    Entry* next_retired = nullptr;  // under the bucket's mutex

    [[nodiscard]] std::uint64_t footprint() const;
  };

  struct alignas(cache_line_bytes) Bucket {
    std::atomic<Entry*> head{nullptr};
    std::atomic<std::uint32_t> readers{0};  // GETs that may hold pointers into the list
    std::unique_ptr<Mutex> mutex;
    Entry* retired = nullptr;  // unlinked, not yet freed; under the mutex
  };

  [[nodiscard]] Bucket& bucket_of(std::span<const std::byte> key);
  // The entry and the link that leads to it; `entry` is null when there is none.
  struct Found {
    Entry* entry;
    std::atomic<Entry*>* link;
  };
  Found find(Bucket& bucket, std::span<const std::byte> key, Work& work);
  ResponseCode insert(Bucket& bucket, std::span<const std::byte> key, std::span<const std::byte> value,
                      Work& work);
  void reclaim(Bucket& bucket);
  void free(Entry* entry);

  Runtime& runtime_;
  MemoryBudget budget_;
  std::atomic<std::uint64_t> entries_{0};
  const std::uint32_t bucket_count_;
  std::unique_ptr<Bucket[]> buckets_;
};

}  // namespace rkv
