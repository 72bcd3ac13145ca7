#include "backends/sim/cpu/numa_balancing.hpp"

#include <algorithm>
#include <utility>

#include "backends/sim/cpu/memory.hpp"
#include "backends/sim/cpu/processors.hpp"

namespace rkv::sim {
namespace {

// Of a hundred: half of what a domain of sockets has beyond it (imbalance_pct, 125).
constexpr std::int64_t imbalance_percent = 112;

// By how much one has more than may be beside the other, in hundredths of a thread.
std::int64_t excess(std::size_t one, std::size_t other) {
  return 100 * static_cast<std::int64_t>(std::max(one, other)) -
         imbalance_percent * static_cast<std::int64_t>(std::min(one, other));
}

}  // namespace

bool is_free_enough(SocketThreads threads) {
  return imbalance_percent * static_cast<std::int64_t>(threads.here) >
         100 * static_cast<std::int64_t>(threads.there);
}

bool may_move(SocketThreads threads) {
  const std::int64_t after = excess(threads.here - 1, threads.there + 1);
  return after <= 0 || after <= excess(threads.here, threads.there);
}

void NumaBalancing::plan(Ps after) {
  planned_ = true;
  world_.at(world_.now() + after, *this, ++turn_);
}

Ps NumaBalancing::pause() const {
  return due_.empty() ? period_ : period_ / static_cast<Ps>(due_.size());
}

void NumaBalancing::set_period(Ps period) {
  period_ = period;
  if (!planned_) return;
  if (next_ == due_.size()) scan();
  plan(pause());
}

void NumaBalancing::scan() {
  due_ = std::exchange(walkers_, {});
  next_ = 0;
  for (Thread* thread : due_) thread->walked_lately = false;
}

void NumaBalancing::on_event(std::uint64_t turn) {
  if (turn != turn_) return;  // planned anew since
  planned_ = false;
  if (next_ == due_.size()) scan();
  if (due_.empty()) return;  // the next walk begins anew
  Thread& thread = *due_[next_++];
  if (thread.state() != Thread::State::ended) {
    cpus_.bring(thread, memory_.socket_of_an_entry(world_.rng().unit()));
  }
  plan(pause());
}

}  // namespace rkv::sim
