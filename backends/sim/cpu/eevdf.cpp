#include "backends/sim/cpu/eevdf.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

// The average virtual time of all that are ready; that of an idle CPU is where it was left.
Ps average(const RunQueue& queue, const Thread* current) {
  // Relative to the floor, so that the sum stays in range whatever the time.
  Ps sum = 0;
  Ps count = 0;
  for (const Thread* thread : queue.waiting) {
    sum += thread->standing.virtual_time - queue.floor;
    ++count;
  }
  if (current != nullptr) {
    sum += current->standing.virtual_time - queue.floor;
    ++count;
  }
  return count == 0 ? queue.floor : queue.floor + sum / count;
}

}  // namespace

void Eevdf::update(RunQueue& queue, const Thread* current) const {
  queue.floor = average(queue, current);
}

void Eevdf::place_woken(const RunQueue& queue, const RunQueue*, Thread& woken) const {
  woken.standing.virtual_time = queue.floor - woken.standing.lag;
  woken.standing.deadline = woken.standing.virtual_time + profile_.slice;
}

void Eevdf::move(const RunQueue& from, const RunQueue& to, Thread& thread) const {
  const Ps shift = to.floor - from.floor;
  thread.standing.virtual_time += shift;
  thread.standing.deadline += shift;
}

void Eevdf::leave(RunQueue& queue, Thread& current) const {
  update(queue, &current);
  current.standing.lag =
      std::clamp(queue.floor - current.standing.virtual_time, -profile_.slice, profile_.slice);
}

Thread* Eevdf::pick(RunQueue& queue) const {
  const Ps now = average(queue, nullptr);
  auto best = queue.waiting.end();
  for (auto it = queue.waiting.begin(); it != queue.waiting.end(); ++it) {
    if ((*it)->standing.virtual_time > now) continue;
    if (best == queue.waiting.end() || (*it)->standing.deadline < (*best)->standing.deadline) best = it;
  }
  Thread* thread = *best;  // the one furthest behind is always eligible
  queue.waiting.erase(best);
  return thread;
}

Ps Eevdf::rest_of_slice(const RunQueue&, const Thread& current) const {
  return std::max<Ps>(current.standing.deadline - current.standing.virtual_time, 1);
}

bool Eevdf::expired(RunQueue&, Thread& current) const {
  if (current.standing.virtual_time < current.standing.deadline) return false;
  current.standing.deadline = current.standing.virtual_time + profile_.slice;
  return true;
}

bool Eevdf::preempts(const RunQueue& queue, const Thread& current, const Thread& woken) const {
  const Ps now = average(queue, &current);
  return current.standing.virtual_time > now && woken.standing.virtual_time <= now &&
         woken.standing.deadline < current.standing.deadline;
}

}  // namespace rkv::sim
