// A model of ChainedStore for simulation: the same answers, counts, charges, locks and use of max_bytes, in
// about the same time whatever the length of a chain. What the walk would have cost is charged, not spent.
// A property test holds the two together (tests/store/modelled_store_test.cpp).
//
// One thread at a time: calls of several simulated threads may interleave, but only where the runtime lets
// another one run, that is in lock(), try_lock() and try_lock_shared(). An entry that a GET has found is not
// freed before the GET has ended, even when it is deleted meanwhile, as in ChainedStore. No call is under way
// and no lock is held when the store is destroyed.
//
// It may begin with stand-ins (stand_ins.hpp): a store that has grown, without its entries.
//
// The order in which entries lie in a hash map reaches no result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/store/blob.hpp"
#include "core/store/chain_order.hpp"
#include "core/store/key_table.hpp"
#include "core/store/locked_value.hpp"
#include "core/store/memory_budget.hpp"
#include "core/store/stand_ins.hpp"
#include "core/store/store.hpp"

namespace rkv {

class ModelledChainedStore final : public Store {
 public:
  // Throws InputError when the empty table alone passes max_bytes, Error when the stand-ins do. Null: it
  // begins empty; else they outlive the store and stay as they are.
  ModelledChainedStore(std::uint32_t buckets, Runtime& runtime, std::uint64_t max_bytes,
                       const StandIns* stand_ins = nullptr);

  // A SET or DEL of a stand-in's key throws Error.
  GetResult get(std::span<const std::byte> key, std::span<std::byte> value_out, Work& work) override;
  ResponseCode set(std::span<const std::byte> key, std::span<const std::byte> value, Work& work) override;
  ResponseCode del(std::span<const std::byte> key, Work& work) override;
  void reset() override;
  [[nodiscard]] std::uint64_t entries() const override { return entries_; }

 private:
  struct Entry {
    LockedValue value;
    std::uint32_t number = 0;  // in the chain's order
  };
  using Chain = std::unordered_map<Blob, Entry, KeyHash, KeyEqual>;

  struct Bucket {
    Chain chain;
    ChainOrder order;
    std::uint64_t stand_ins = 0;
    std::unique_ptr<Mutex> mutex;
    std::uint32_t readers = 0;              // GETs that may hold pointers into the chain
    std::vector<Chain::node_type> retired;  // taken out of the chain, not yet freed
  };

  [[nodiscard]] Bucket& bucket_of(std::span<const std::byte> key);
  // The chain's end when there is none among the entries that it holds.
  Chain::iterator find(Bucket& bucket, std::span<const std::byte> key, Work& work);
  // The same for SET and DEL, which find no stand-in.
  Chain::iterator find_to_write(Bucket& bucket, std::span<const std::byte> key, Work& work);
  GetResult read_stand_in(const Bucket& bucket, const StandIns::Found& found, std::size_t room_bytes,
                          Work& work);
  ResponseCode insert(Bucket& bucket, std::span<const std::byte> key, std::span<const std::byte> value,
                      Work& work);
  static void renumber(Bucket& bucket);
  void reclaim(Bucket& bucket);

  Runtime& runtime_;
  MemoryBudget budget_;
  std::uint64_t entries_ = 0;
  const StandIns* stand_ins_;
  TryLock stand_in_lock_;  // in place of each one's own: nobody writes them, so it is never refused
  std::vector<Bucket> buckets_;
};

}  // namespace rkv
