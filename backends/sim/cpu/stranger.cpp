#include "backends/sim/cpu/stranger.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::sim {
namespace {

constexpr double least_change = 1.0 / (1 << 20);  // of a weight, as Linux keeps it (scale_load())

}  // namespace

Stranger::Stranger(const SchedulerProfile& scheduler)
    : grouped_(scheduler.grouped && scheduler.kind == SchedulerProfile::Kind::eevdf),
      tick_(scheduler.tick),
      most_lag_(static_cast<double>(std::max(2 * scheduler.slice, scheduler.tick))) {}

void Stranger::sleeps(Ps then, Ps ran, double share) {
  if (!grouped_) return;
  share_ = share;
  ahead_ = static_cast<double>(ran);
  since_ = then;
  account(load_, then - ran);
  load_.pass(then, 1, 0, 0);
  queued_until_ = out_at();
}

void Stranger::goes(Ps then, Ps ran, double weight) {
  if (!grouped_) return;
  const Ps from = then - ran;
  account(load_, from);
  load_.pass(then, weight + (queued_until_ > from ? 1 : 0), 0, 0);
  queued_until_ = std::max(queued_until_, then);
}

Ps Stranger::out_at() const {
  return tick_from(since_ + std::llround(ahead_ * share_), tick_);
}

void Stranger::account(LoadAverage& load, Ps now) const {
  load.pass(std::min(now, queued_until_), 1, 0, 0);
  load.pass(now, 0, 0, 0);
}

void Stranger::take(Stranger& from, Ps now, double share) {
  account(load_, now);
  from.account(from.load_, now);
  load_.add(from.load_);
  ahead_ = from.ahead_at(now);
  share_ = share;
  since_ = now;
  queued_until_ = out_at();
  from.load_.remove(from.load_);
  from.leaves(now);
}

void Stranger::leaves(Ps now) {
  ahead_ = 0;
  if (queued_until_ <= now) return;
  account(load_, now);
  queued_until_ = now;
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
  account(load_, now);
  queued_until_ = out_at();
  return true;
}

double Stranger::load(Ps now) const {
  if (queued_until_ == 0) return 0;
  LoadAverage average = load_;
  account(average, now);
  return average.load();
}

}  // namespace rkv::sim
