#include "backends/sim/cpu/cfs.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

bool behind(const Thread* a, const Thread* b) {
  return a->standing.virtual_time < b->standing.virtual_time;
}

}  // namespace

Ps Cfs::slice(const RunQueue& queue) const {
  const auto threads = static_cast<Ps>(queue.waiting.size() + 1);
  return std::max(profile_.latency / threads, profile_.slice);
}

void Cfs::update(RunQueue& queue, Thread* current) const {
  Ps least = forever;
  if (current != nullptr) least = current->standing.virtual_time;
  if (!queue.waiting.empty()) {
    least = std::min(
        least,
        (*std::min_element(queue.waiting.begin(), queue.waiting.end(), behind))->standing.virtual_time);
  }
  if (least < forever) queue.floor = std::max(queue.floor, least);
}

void Cfs::place_woken(RunQueue& queue, const RunQueue* from, Thread& woken) const {
  Ps& own = woken.standing.virtual_time;
  if (from == nullptr) {
    own = queue.floor;
    return;
  }
  if (from != &queue) own += queue.floor - from->floor;
  own = std::max(own, queue.floor - profile_.latency / 2);
}

void Cfs::move(const RunQueue& from, const RunQueue& to, Thread& thread) const {
  thread.standing.virtual_time += to.floor - from.floor;
}

void Cfs::leave(RunQueue& queue, Thread& current) const {
  update(queue, &current);
}

Thread* Cfs::pick(RunQueue& queue) const {
  const auto first = std::min_element(queue.waiting.begin(), queue.waiting.end(), behind);
  Thread* thread = *first;
  queue.waiting.erase(first);
  queue.floor = std::max(queue.floor, thread->standing.virtual_time);  // nobody is behind it
  return thread;
}

Ps Cfs::rest_of_slice(const RunQueue& queue, const Thread& current) const {
  return std::max<Ps>(slice(queue) - current.standing.ran, 1);
}

bool Cfs::expired(RunQueue& queue, Thread& current) const {
  if (current.standing.ran >= slice(queue)) return true;
  if (current.standing.ran < profile_.slice) return false;
  const auto first = std::min_element(queue.waiting.begin(), queue.waiting.end(), behind);
  return current.standing.virtual_time - (*first)->standing.virtual_time > slice(queue);
}

bool Cfs::yield(RunQueue& queue, Thread& current) const {
  if (queue.waiting.empty()) return false;
  const auto first = std::min_element(queue.waiting.begin(), queue.waiting.end(), behind);
  Ps& own = current.standing.virtual_time;
  const Ps next = (*first)->standing.virtual_time;
  if (next - own > profile_.wakeup_granularity) return false;
  own = std::max(own, next + 1);
  return true;
}

bool Cfs::preempts(const RunQueue&, const Thread& current, const Thread& woken) const {
  return current.standing.virtual_time - woken.standing.virtual_time > profile_.wakeup_granularity;
}

}  // namespace rkv::sim
