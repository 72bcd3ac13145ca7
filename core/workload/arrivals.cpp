#include "core/workload/arrivals.hpp"

#include <algorithm>
#include <cmath>

namespace rkv {
namespace {

// Rates may be so low that the next arrival is beyond what a Duration holds: 30 years is as good as never.
Duration rounded(double ns) {
  return Duration(std::llround(std::min(ns, 1e18)));
}

}  // namespace

ArrivalProcess::ArrivalProcess(const Scenario& scenario, std::uint32_t client, std::uint32_t clients)
    : poisson_(scenario.load.arrivals.kind == Arrivals::Kind::poisson),
      client_(client),
      clients_(clients),
      rate_per_ns_(scenario.load.arrivals.rate_ops_s / 1e9),
      rng_(scenario.seed, client, Purpose::arrival) {}

Duration ArrivalProcess::next() {
  if (poisson_) {
    elapsed_ns_ += -std::log(rng_.positive_unit()) * clients_ / rate_per_ns_;
    return rounded(elapsed_ns_);
  }
  // The clients take turns: all of them together are as regular as each one is.
  const double turn = static_cast<double>(count_++) * clients_ + client_;
  return rounded(turn / rate_per_ns_);
}

}  // namespace rkv
