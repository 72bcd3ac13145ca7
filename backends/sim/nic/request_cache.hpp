// Work requests that the card holds on to until their answer comes: a READ's says where its bytes go. The
// card has room for `entries` of them. With lru and fifo it is the latest that it holds, so with more
// outstanding than there is room for every answer finds its request gone; with random each request that came
// since has thrown it out with probability 1 / entries. What is gone is fetched from host memory again, which
// takes `miss`, for at most `parallel_misses` at a time.
//
// Source: Ren et al., "Scaling up memory disaggregated applications with SMART" (ASPLOS 2024): with more
// outstanding work requests than the card's cache holds, throughput falls and DMA traffic a request rises.
// Kalia et al., "Design guidelines for high performance RDMA systems" (ATC 2016), 5.3.2: newer work requests
// throw older ones out of the card's cache before their answers come, those of READs, not of WRITEs.
// That WRITEs, which only need an acknowledgement, do not suffer: published results of rdma_bench's rc_swarm.
#pragma once

#include <cmath>
#include <cstdint>

#include "backends/sim/nic/cache.hpp"
#include "backends/sim/nic/units.hpp"
#include "backends/sim/profile/profile.hpp"
#include "core/workload/rng.hpp"

namespace rkv::sim {

class RequestCache {
 public:
  // rng: drawn from by the policy `random` only. Must outlive this.
  RequestCache(const CacheProfile& profile, Rng& rng)
      : entries_(cache_entries(profile)),
        policy_(profile.policy),
        miss_(profile.miss),
        rng_(rng),
        fetches_(profile.parallel_misses) {}

  // A request comes to the card. Its number.
  std::uint64_t enter() { return entered_++; }
  // Its answer has come. When the card has the request at hand.
  Ps find(std::uint64_t number, Ps now) {
    if (entries_ == 0 || holds(entered_ - number - 1)) return now;
    ++misses_;
    ++entered_;
    return fetches_.serve(now, miss_).end;
  }

  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  // Whether one is still there after so many others have come.
  [[nodiscard]] bool holds(std::uint64_t since) const {
    if (policy_ != CacheProfile::Policy::random) return since < entries_;
    return rng_.unit() < std::pow(1 - 1.0 / entries_, static_cast<double>(since));
  }

  const std::uint32_t entries_;  // 0: it holds all
  const CacheProfile::Policy policy_;
  const Ps miss_;
  Rng& rng_;
  Units fetches_;
  std::uint64_t entered_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace rkv::sim
