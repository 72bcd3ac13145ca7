// A store of any kind.
#pragma once

#include <algorithm>
#include <memory>

#include "core/store/item_store.hpp"
#include "core/store/store.hpp"
#include "tests/store/plain_memory.hpp"

namespace rkv::test {

inline constexpr std::array store_kinds{StoreOptions::Kind::chained, StoreOptions::Kind::cuckoo,
                                        StoreOptions::Kind::items};

// With store kind items, nine tenths of max_bytes are for items, each of up to item_bytes of key and value.
inline std::unique_ptr<Store> make_any_store(const StoreOptions& options, Runtime& runtime,
                                             std::uint64_t max_bytes, std::uint32_t item_bytes = 1000) {
  if (options.kind != StoreOptions::Kind::items) return make_store(options, runtime, max_bytes);
  const std::uint64_t memory_bytes =
      std::max<std::uint64_t>(max_bytes / 10 * 9, ItemRegion::place_bytes(item_bytes));
  return std::make_unique<ItemStore>(runtime, std::make_unique<PlainMemory>(memory_bytes), item_bytes,
                                     max_bytes);
}

}  // namespace rkv::test
