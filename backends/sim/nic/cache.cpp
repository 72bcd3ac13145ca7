#include "backends/sim/nic/cache.hpp"

#include <algorithm>

namespace rkv::sim {

std::uint32_t cache_entries(const CacheProfile& profile) {
  if (profile.bytes == 0) return profile.entries;
  const std::uint64_t entries = profile.bytes / std::max(profile.bytes_an_entry, 1U);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(entries, 1, UINT32_MAX - 1));
}

ContextCache::ContextCache(const CacheProfile& profile, Rng& rng)
    : capacity_(cache_entries(profile)),
      policy_(profile.policy),
      miss_(profile.miss),
      rng_(rng),
      fetches_(profile.parallel_misses) {}

ContextCache::Place ContextCache::look_up(std::uint64_t id) {
  ++accesses_;
  if (id >= slot_of_.size()) slot_of_.resize(id + 1, none);
  std::uint32_t slot = slot_of_[id];
  if (slot == none) {
    ++misses_;
    slot = make_room();
    slot_of_[id] = slot;
    entries_[slot].id = id;
    make_newest(slot);
    return {.slot = slot, .missed = true};
  }
  if (policy_ == CacheProfile::Policy::lru && slot != newest_) {
    unlink(slot);
    make_newest(slot);
  }
  return {.slot = slot};
}

// A slot that is not in the list.
std::uint32_t ContextCache::make_room() {
  if (entries_.size() < capacity_) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t victim = policy_ == CacheProfile::Policy::random
                                   ? static_cast<std::uint32_t>(rng_.below(entries_.size()))
                                   : oldest_;
  unlink(victim);
  slot_of_[entries_[victim].id] = none;
  return victim;
}

void ContextCache::unlink(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  (entry.newer == none ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == none ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void ContextCache::make_newest(std::uint32_t slot) {
  entries_[slot].newer = none;
  entries_[slot].older = newest_;
  (newest_ == none ? oldest_ : entries_[newest_].newer) = slot;
  newest_ = slot;
}

}  // namespace rkv::sim
