#include "backends/sim/cpu/numa_balancing.hpp"

#include <utility>

#include "backends/sim/cpu/memory.hpp"
#include "backends/sim/cpu/processors.hpp"

namespace rkv::sim {

void NumaBalancing::plan(Ps after) {
  planned_ = true;
  world_.at(world_.now() + after, *this, 0);
}

void NumaBalancing::on_event(std::uint64_t) {
  planned_ = false;
  if (next_ == due_.size()) {
    due_ = std::exchange(walkers_, {});
    next_ = 0;
    for (Thread* thread : due_) thread->walked_lately = false;
  }
  if (due_.empty()) return;  // the next walk begins anew
  Thread& thread = *due_[next_++];
  if (thread.state() != Thread::State::ended) {
    cpus_.bring(thread, memory_.socket_of_an_entry(world_.rng().unit()));
  }
  plan(period_ / static_cast<Ps>(due_.size()));
}

}  // namespace rkv::sim
