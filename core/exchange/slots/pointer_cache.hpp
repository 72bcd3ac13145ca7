// Where the items of so many keys lay when a client last heard of them. One place for each key, by its hash,
// so that the latest of two keys with the same place drives out the other. A key is known by its hash alone:
// whoever READs what lies there looks whether it is the key's.
//
// Belongs to one thread. Nothing allocates after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/store/item_pointer.hpp"
#include "core/store/key_table.hpp"

namespace rkv {

class PointerCache {
 public:
  // Of 0 places nothing is remembered.
  explicit PointerCache(std::uint32_t places) : entries_(places) {}

  [[nodiscard]] std::optional<ItemPointer> find(std::span<const std::byte> key) const {
    if (entries_.empty()) return std::nullopt;
    const std::size_t hash = KeyHash{}(key);
    const Entry& entry = entries_[hash % entries_.size()];
    if (entry.pointer.word == 0 || entry.hash != hash) return std::nullopt;
    return entry.pointer;
  }

  void remember(std::span<const std::byte> key, const ItemPointer& pointer) {
    if (entries_.empty()) return;
    const std::size_t hash = KeyHash{}(key);
    entries_[hash % entries_.size()] = {.hash = hash, .pointer = pointer};
  }

  void forget(std::span<const std::byte> key) {
    if (entries_.empty()) return;
    const std::size_t hash = KeyHash{}(key);
    Entry& entry = entries_[hash % entries_.size()];
    if (entry.hash == hash) entry = {};
  }

  [[nodiscard]] std::uint64_t bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  struct Entry {
    std::size_t hash = 0;
    ItemPointer pointer;  // word 0: none
  };
  std::vector<Entry> entries_;
};

}  // namespace rkv
