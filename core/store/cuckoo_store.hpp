// A concurrent cuckoo table: libcuckoo's cuckoohash_map, with keys and values of any length.
//
// What is a property of that table, and so of every study made with it:
// - each operation takes one or two of its 65536 internal spinlocks, without yielding and without the port:
//   a preempted holder is waited for by spinning, and a simulation charges nothing for them. Work is charged
//   when they have been released;
// - the locks are held while a value is copied in or out;
// - a full table doubles inside a SET, under all locks; entries then move as their locks are next taken.
// Slots compared are not visible from outside: an operation counts one entry walked.
//
// GET allocates nothing. SET overwrites in place where the value fits, else it allocates before it locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <libcuckoo/cuckoohash_map.hh>
#include <mutex>
#include <span>

#include "core/store/blob.hpp"
#include "core/store/key_table.hpp"
#include "core/store/memory_budget.hpp"
#include "core/store/store.hpp"

namespace rkv {

class CuckooStore final : public Store {
 public:
  // `runtime` is charged and must outlive the store. Throws InputError when the empty table alone (9 MB)
  // passes max_bytes.
  CuckooStore(Runtime& runtime, std::uint64_t max_bytes);

  GetResult get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) override;
  ResponseCode set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) override;
  ResponseCode del(std::span<const std::byte> key, Work& work) override;
  void reset() override;
  [[nodiscard]] std::uint64_t entries() const override { return entries_.load(std::memory_order_relaxed); }

 private:
  using Table = libcuckoo::cuckoohash_map<Blob, Blob, KeyHash, KeyEqual>;

  bool overwrite_in_place(std::span<const std::byte> key, std::span<const std::byte> value);
  ResponseCode insert_or_replace(std::span<const std::byte> key, std::span<const std::byte> value);
  [[nodiscard]] bool allow_doubling(std::size_t beyond_hashpower);

  Runtime& runtime_;
  MemoryBudget budget_;
  std::atomic<std::uint64_t> entries_{0};  // libcuckoo's size() must not run beside a SET
  std::mutex doubling_;                    // of maximum_hashpower; SETs that found the table full
  Table table_;
};

}  // namespace rkv
