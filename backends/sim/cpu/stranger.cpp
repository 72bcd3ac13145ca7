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

void Stranger::sleeps(Ps then, Ps ran, double share) {
  if (!grouped_) return;
  share_ = share;
  ahead_ = static_cast<double>(ran);
  since_ = asleep_at_ = then;
}

double Stranger::ahead_at(Ps now) const {
  return now <= since_ ? ahead_ : ahead_ - static_cast<double>(now - since_) / share_;
}

bool Stranger::weigh(Ps now, double share) {
  if (now < since_) return false;
  ahead_ = std::max(ahead_at(now), 0.0);
  since_ = now;
  const bool changed = std::abs(share - share_) >= least_change;
  share_ = share;
  if (ahead_ <= 0 || !changed) return false;
  const double weights = 1 + share;
  ahead_ = std::min(ahead_, weights * most_lag_ / share) * (1 + share / (weights * weights));
  return true;
}

double Stranger::load(Ps now) const {
  if (!lingers(now)) return 0;
  LoadAverage average;
  average.pass(asleep_at_, 0, 0, 0);
  average.pass(now, 1, 0, 0);
  return average.load();
}

}  // namespace rkv::sim
