// Work requests that the card holds from their posting to their completion. It has room for `entries`; each
// posted while that many or more are outstanding has to be fetched from host memory again, which takes
// `miss`, for at most `parallel_misses` at a time.
//
// Source: Ren et al., "Scaling up memory disaggregated applications with SMART" (ASPLOS 2024):
// with more outstanding work requests than the card's cache holds, throughput falls and DMA traffic a request
// rises.
#pragma once

#include <cstdint>

#include "backends/sim/nic/cache.hpp"
#include "backends/sim/nic/units.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class RequestCache {
 public:
  explicit RequestCache(const CacheProfile& profile)
      : entries_(cache_entries(profile)), miss_(profile.miss), fetches_(profile.parallel_misses) {}

  // A request is posted. When it can be worked on.
  Ps enter(Ps now) {
    if (entries_ == 0 || outstanding_++ < entries_) return now;
    ++misses_;
    return fetches_.serve(now, miss_).end;
  }
  // One is done.
  void leave() {
    if (entries_ > 0) --outstanding_;
  }

  [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  const std::uint32_t entries_;  // 0: it holds all
  const Ps miss_;
  Units fetches_;
  std::uint64_t outstanding_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace rkv::sim
