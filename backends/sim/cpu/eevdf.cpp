#include "backends/sim/cpu/eevdf.hpp"

#include <algorithm>
#include <utility>

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

// Of those that wait and are eligible; the end if none is.
auto earliest(auto& queue, Ps average) {
  auto best = queue.waiting.end();
  for (auto it = queue.waiting.begin(); it != queue.waiting.end(); ++it) {
    if ((*it)->standing.virtual_time > average) continue;
    if (best == queue.waiting.end() || (*it)->standing.deadline < (*best)->standing.deadline) best = it;
  }
  return best;
}

// Whether who went to sleep is still in the queue, since it was ahead of the average then and is by this one.
bool stayed(const Standing& sleeper, Ps average) {
  return sleeper.lag < 0 && sleeper.virtual_time >= average;
}

}  // namespace

void Eevdf::update(RunQueue& queue, const Thread* current) const {
  queue.floor_before = std::exchange(queue.floor, average(queue, current));
  queue.ready = queue.waiting.size() + (current == nullptr ? 0 : 1);
}

void Eevdf::place_woken(const RunQueue& queue, const RunQueue* from, Thread& woken) const {
  Standing& own = woken.standing;
  if (from == &queue && stayed(own, queue.floor_before)) return;
  // The average moves towards it, so that more is needed for as much to be left.
  const auto ready = static_cast<Ps>(queue.ready);
  const Ps lag = ready == 0 ? 0 : std::max<Ps>(own.lag, 0) * (ready + 1) / ready;
  own.virtual_time = queue.floor - lag;
  own.deadline = own.virtual_time + (from == nullptr ? profile_.slice / 2 : profile_.slice);
}

bool Eevdf::stays(const RunQueue& queue, const Thread& sleeper) const {
  return stayed(sleeper.standing, queue.floor);
}

void Eevdf::move(const RunQueue& from, const RunQueue& to, Thread& thread) const {
  const Ps shift = to.floor - from.floor;
  thread.standing.virtual_time += shift;
  thread.standing.deadline += shift;
}

void Eevdf::leave(RunQueue& queue, Thread& current) const {
  update(queue, &current);
  const Ps limit = std::max(2 * profile_.slice, profile_.tick);
  current.standing.lag = std::clamp(queue.floor - current.standing.virtual_time, -limit, limit);
}

Thread* Eevdf::pick(RunQueue& queue) const {
  const auto best = earliest(queue, average(queue, nullptr));
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
  if (current.standing.virtual_time <= now) return false;
  const auto best = earliest(queue, now);
  return best != queue.waiting.end() && *best == &woken;
}

}  // namespace rkv::sim
