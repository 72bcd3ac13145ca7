#include "backends/sim/cpu/cost_by_size.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::sim {

CostBySize::CostBySize(const std::vector<MemoryProfile::CostAtSize>& table) {
  for (const auto& [bytes, cost] : table) {
    log_bytes_.push_back(std::log2(static_cast<double>(std::max<std::uint64_t>(bytes, 1))));
    costs_.push_back(cost);
  }
}

Ps CostBySize::at(std::uint64_t asked_bytes) const {
  if (known_cost_ >= 0 && asked_bytes == known_bytes_) return known_cost_;
  const double bytes = std::log2(static_cast<double>(std::max<std::uint64_t>(asked_bytes, 1)));
  const auto above = std::upper_bound(log_bytes_.begin(), log_bytes_.end(), bytes);
  const auto index = static_cast<std::size_t>(above - log_bytes_.begin());
  double cost = 0;
  if (index == 0) {
    cost = static_cast<double>(costs_.front());
  } else if (index == log_bytes_.size()) {
    cost = static_cast<double>(costs_.back());
  } else {
    const double part = (bytes - log_bytes_[index - 1]) / (log_bytes_[index] - log_bytes_[index - 1]);
    const auto low = static_cast<double>(costs_[index - 1]);
    cost = low + part * (static_cast<double>(costs_[index]) - low);
  }
  known_bytes_ = asked_bytes;
  known_cost_ = std::llround(cost);
  return known_cost_;
}

Ps refill_cost(const CostBySize& lines, std::uint64_t footprint_bytes, std::uint64_t others) {
  const Ps more = lines.at(footprint_bytes * (others + 1)) - lines.at(footprint_bytes);
  return std::llround(static_cast<double>(footprint_bytes) / cache_line_bytes * static_cast<double>(more));
}

}  // namespace rkv::sim
