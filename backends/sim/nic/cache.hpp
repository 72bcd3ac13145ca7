// A cache on the card: of queue pairs' contexts, of memory translations. What it does not hold is fetched
// from host memory, which takes `miss`, for at most `parallel_misses` at a time; more queue up, first come
// first served. When it is full the policy evicts: the least recently used, the oldest or a random entry.
//
// Q contexts in uniformly random use and room for C < Q miss with probability 1 - C / Q under every one of
// the policies. Source of the mechanism: Kalia et al., "Design guidelines for high performance RDMA systems"
// (ATC 2016), and Kong et al., "Understanding RDMA microarchitecture resources for performance isolation"
// (NSDI 2023) (contexts, translations, and the fetches under way).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/sim/nic/units.hpp"
#include "backends/sim/profile/profile.hpp"
#include "core/workload/rng.hpp"

namespace rkv::sim {

// Entries that the profile gives it. 0: it holds everything.
[[nodiscard]] std::uint32_t cache_entries(const CacheProfile& profile);

class ContextCache {
 public:
  // rng: drawn from by the policy `random` only. Must outlive this.
  ContextCache(const CacheProfile& profile, Rng& rng);

  // When the context is on the card: `now` if it is there, later if it has to be fetched or is on its way.
  // O(1). Ids are small numbers, given out from 0 up: memory is proportional to the greatest.
  Ps access(std::uint64_t id, Ps now) {
    return access(id, now, [](Ps fetched) { return fetched; });
  }
  // The same; of a fetch that begins now, put_off(when it ends) says when the context is there instead.
  template <typename PutOff>
  Ps access(std::uint64_t id, Ps now, const PutOff& put_off) {
    if (capacity_ == 0) return now;
    const Place place = look_up(id);
    if (place.missed) entries_[place.slot].there_at = put_off(fetches_.serve(now, miss_).end);
    return std::max(now, entries_[place.slot].there_at);
  }

  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Entry {
    std::uint64_t id = 0;
    Ps there_at = 0;
    std::uint32_t newer = none;  // in the order of eviction, for lru and fifo
    std::uint32_t older = none;
  };

  struct Place {
    std::uint32_t slot = none;
    bool missed = false;  // its fetch is to begin
  };

  Place look_up(std::uint64_t id);
  [[nodiscard]] std::uint32_t make_room();
  void unlink(std::uint32_t slot);
  void make_newest(std::uint32_t slot);

  const std::uint32_t capacity_;
  const CacheProfile::Policy policy_;
  const Ps miss_;
  Rng& rng_;
  Units fetches_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slot_of_;  // by id
  std::uint32_t newest_ = none;
  std::uint32_t oldest_ = none;
  std::uint64_t accesses_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace rkv::sim
