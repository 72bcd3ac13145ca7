#include "backends/sim/cpu/stranger.hpp"

#include <algorithm>
#include <cmath>

#include "backends/sim/cpu/load_average.hpp"

namespace rkv::sim {
namespace {

constexpr double least_change = 1.0 / (1 << 20);  // of a weight, as Linux keeps it (scale_load())

}  // namespace

Stranger::Stranger(const SchedulerProfile& scheduler)
    : grouped_(scheduler.grouped && scheduler.kind == SchedulerProfile::Kind::eevdf),
      most_lag_(static_cast<double>(std::max(2 * scheduler.slice, scheduler.tick))) {}

void Stranger::sleeps(Ps then, Ps ran) {
  if (!grouped_) return;
  ahead_ = static_cast<double>(ran);
  since_ = asleep_at_ = then;
}

bool Stranger::weigh(Ps now, double share) {
  if (!lingers() || now < since_) return false;
  ahead_ -= static_cast<double>(now - since_) / share_;
  since_ = now;
  const bool changed = std::abs(share - share_) >= least_change;
  share_ = share;
  if (!lingers() || !changed) return false;
  const double weights = 1 + share;
  ahead_ = std::min(ahead_, weights * most_lag_ / share) * (1 + share / (weights * weights));
  return true;
}

double Stranger::load(Ps now) const {
  if (!lingers()) return 0;
  LoadAverage average;
  average.pass(asleep_at_, 0, 0, 0);
  average.pass(now, 1, 0, 0);
  return average.load();
}

}  // namespace rkv::sim
