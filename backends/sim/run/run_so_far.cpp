#include "backends/sim/run/run_so_far.hpp"

#include <algorithm>
#include <numeric>

namespace rkv::sim {

void RunSoFar::forget() {
  std::fill(operations_.begin(), operations_.end(), 0);
  totals_.assign(1, 0);
  of_a_client_.assign(clients_, 0);
}

void RunSoFar::add(std::span<const double> operations) {
  operations_.assign(operations.begin(), operations.end());
  totals_.push_back(std::accumulate(operations.begin(), operations.end(), 0.0));
  of_a_client_.insert(of_a_client_.end(), operations.begin(), operations.end());
}

double RunSoFar::all_operations_when(std::size_t client, double count) const {
  const auto at = [&](std::size_t moment) { return of_a_client_[moment * clients_ + client]; };
  std::size_t low = 0;
  std::size_t high = totals_.size() - 1;  // the first moment at which it had done as many, or the last one
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (at(middle) < count) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (high == 0) return totals_.front();
  const double advance = at(high) - at(high - 1);
  const double part = advance > 0 ? std::clamp((count - at(high - 1)) / advance, 0.0, 1.0) : 1.0;
  return totals_[high - 1] + part * (totals_[high] - totals_[high - 1]);
}

}  // namespace rkv::sim
