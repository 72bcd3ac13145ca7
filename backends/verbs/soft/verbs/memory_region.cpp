#include "backends/verbs/soft/verbs/memory_region.hpp"

namespace rkv::soft {

KeyTable& KeyTable::instance() {
  // Never destroyed: regions may outlive static destruction.
  static auto* const table = new KeyTable;
  return *table;
}

KeyTable::KeyTable() : secret_(random_()) {}

std::uint32_t KeyTable::insert(const MemoryRegion& region) {
  const std::scoped_lock lock(mutex_);
  std::uint32_t index = next_unused_;
  if (next_unused_ <= index_mask) {
    ++next_unused_;  // fresh entries first, so that a stale key stays invalid for long
  } else if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    return 0;
  }
  std::uint32_t key = 0;
  while (key == 0) {
    key = (random_() & ~index_mask) | ((index ^ secret_) & index_mask);
  }
  publish(key, region);
  return key;
}

void KeyTable::hide(std::uint32_t key) {
  entries_[index_of(key)].key.store(0, std::memory_order_release);
}

void KeyTable::change(std::uint32_t key, const MemoryRegion& region) {
  publish(key, region);
}

void KeyTable::release(std::uint32_t key) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(index_of(key));
}

void KeyTable::publish(std::uint32_t key, const MemoryRegion& region) {
  KeyEntry& entry = entries_[index_of(key)];
  entry.access = region.access;
  entry.iova = region.iova;
  entry.length_bytes = region.ibv.length;
  entry.base = static_cast<std::byte*>(region.ibv.addr);
  entry.pd = ProtectionDomain::protection_of(region.ibv.pd);
  entry.key.store(key, std::memory_order_release);
}

}  // namespace rkv::soft
