#include "backends/sim/port/sim_wait_set.hpp"

#include "backends/sim/cpu/spin_lock.hpp"
#include "backends/sim/port/block_operation.hpp"
#include "backends/sim/port/spin_operation.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

template <typename Theirs>
void append(std::vector<Source*>& to, std::span<Theirs* const> sources) {
  for (Theirs* source : sources) {
    to.push_back(dynamic_cast<Source*>(source));
    if (to.back() == nullptr) throw Error("wait set: a source was made by another backend");
  }
}

}  // namespace

SimWaitSet::SimWaitSet(World& world, std::vector<Source*> sources, bool one_queue, SimStopFlag& stop)
    : world_(world), sources_(std::move(sources)), one_queue_(one_queue), stop_(stop) {}

WaitResult SimWaitSet::spin(std::span<Completion> out, const SpinBudget& budget, Instant deadline) {
  // A single look takes the queue's lock as a post does. A spin of many is one operation, of which the looks
  // that find nothing are not stepped through (cpu/poll_lock.hpp).
  SpinLock* const lock = budget.scans == 1 && sources_.size() == 1 ? sources_.front()->lock() : nullptr;
  Thread& thread = *world_.current();
  if (lock != nullptr) lock->lock(thread);
  drained_ = false;
  SpinOperation spin(*this, out, budget, deadline);
  thread.perform(spin);
  if (lock != nullptr) lock->unlock(thread);
  return spin.result();
}

WaitResult SimWaitSet::block(std::span<Completion> out, Instant deadline) {
  return sleep_until_taken(out, deadline, First::look);
}

WaitResult SimWaitSet::await_event(std::span<Completion> out, Instant deadline) {
  First first = First::look;
  if (one_queue_ && sources_.front()->needs_arming()) {
    first = First::arm;
  } else if (one_queue_ && drained_) {
    first = First::sleep;
  }
  return sleep_until_taken(out, deadline, first);
}

WaitResult SimWaitSet::sleep_until_taken(std::span<Completion> out, Instant deadline, First first) {
  for (const Source* source : sources_) {
    if (!source->blockable()) {
      throw Error("wait set: blocking needs completion queues that were made blockable, and no slots");
    }
  }
  BlockOperation block(*this, out, deadline, first);
  world_.current()->perform(block);
  drained_ = block.result().count < out.size();
  return block.result();
}

std::unique_ptr<WaitSet> SimWaitSets::make_wait_set(const WaitSources& sources, const StopFlag& stop) {
  std::vector<Source*> all;
  append(all, sources.completion_queues);
  append(all, sources.streams);
  append(all, sources.slots);
  const bool one_queue = all.size() == 1 && !sources.completion_queues.empty();
  return std::make_unique<SimWaitSet>(world_, std::move(all), one_queue, sim_stop_flag(stop));
}

}  // namespace rkv::sim
