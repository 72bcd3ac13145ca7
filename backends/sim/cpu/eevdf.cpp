#include "backends/sim/cpu/eevdf.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

// The average virtual time of all that are in the queue and of the running one, if there is one; that of an
// idle CPU is where it was left.
Ps average(const RunQueue& queue, const Ps* running) {
  // Relative to the floor, so that the sum stays in range whatever the time.
  Ps sum = 0;
  Ps count = 0;
  const auto add = [&](Ps virtual_time) {
    sum += virtual_time - queue.floor;
    ++count;
  };
  for (const Thread* thread : queue.waiting) add(thread->standing.virtual_time);
  for (const Thread* thread : queue.lingering) add(thread->standing.virtual_time);
  if (running != nullptr) add(*running);
  return count == 0 ? queue.floor : queue.floor + sum / count;
}

// Of those in the queue that are eligible; null if none is.
Thread* earliest(const RunQueue& queue, Ps average) {
  Thread* best = nullptr;
  const auto consider = [&](Thread* thread) {
    if (thread->standing.virtual_time > average) return;
    if (best == nullptr || thread->standing.deadline < best->standing.deadline) best = thread;
  };
  for (Thread* thread : queue.waiting) consider(thread);
  for (Thread* thread : queue.lingering) consider(thread);
  return best;
}

}  // namespace

void Eevdf::update(RunQueue& queue, Thread* current) const {
  if (current != nullptr) current->standing.unaccounted = 0;
  queue.floor = average(queue, current == nullptr ? nullptr : &current->standing.virtual_time);
  queue.members = queue.waiting.size() + queue.lingering.size() + (current == nullptr ? 0 : 1);
}

void Eevdf::place_woken(RunQueue& queue, const RunQueue* from, Thread& woken) const {
  Standing& own = woken.standing;
  const auto members = static_cast<Ps>(queue.members);
  // The average moves towards it, so that more is needed for as much to be left.
  const Ps lag = members == 0 ? 0 : own.lag * (members + 1) / members;
  own.virtual_time = queue.floor - lag;
  own.deadline = own.virtual_time + (from == nullptr ? profile_.slice / 2 : profile_.slice);
}

void Eevdf::requeue(RunQueue& queue, const Thread& current, Ps since_tick, Thread& woken) const {
  Standing& own = woken.standing;
  std::erase(queue.lingering, &woken);
  own.lingers = false;
  const Ps accounted = current.standing.virtual_time - std::min(current.standing.unaccounted, since_tick);
  const Ps others = average(queue, &accounted);
  if (others <= own.virtual_time) return;
  own.virtual_time = others;
  own.deadline = others + profile_.slice;
}

void Eevdf::move(const RunQueue& from, const RunQueue& to, Thread& thread) const {
  const Ps shift = to.floor - from.floor;
  thread.standing.virtual_time += shift;
  thread.standing.deadline += shift;
}

void Eevdf::leave(RunQueue& queue, Thread& current) const {
  update(queue, &current);
  const Ps limit = std::max(2 * profile_.slice, profile_.tick);
  Standing& own = current.standing;
  own.lag = std::min(queue.floor - own.virtual_time, limit);
  if (own.lag >= 0 || current.state() != Thread::State::sleeping) return;
  own.lag = 0;  // by when it is out of the queue
  own.lingers = true;
  queue.lingering.push_back(&current);
}

Thread* Eevdf::pick(RunQueue& queue) const {
  Thread* thread = earliest(queue, average(queue, nullptr));  // the one furthest behind is always eligible
  std::erase(thread->standing.lingers ? queue.lingering : queue.waiting, thread);
  return thread;
}

Ps Eevdf::rest_of_slice(const RunQueue&, const Thread& current) const {
  return std::max<Ps>(current.standing.deadline - current.standing.virtual_time, 1);
}

bool Eevdf::expired(RunQueue&, Thread& current) const {
  current.standing.unaccounted = 0;
  if (current.standing.virtual_time < current.standing.deadline) return false;
  current.standing.deadline = current.standing.virtual_time + profile_.slice;
  return true;
}

bool Eevdf::yield(RunQueue& queue, Thread& current) const {
  static_cast<void>(expired(queue, current));
  Standing& own = current.standing;
  if (own.virtual_time <= average(queue, &own.virtual_time)) {
    own.virtual_time = own.deadline;
    own.deadline += profile_.slice;
  }
  return !queue.waiting.empty();
}

bool Eevdf::preempts(const RunQueue& queue, const Thread& current, const Thread& woken) const {
  const Ps now = average(queue, &current.standing.virtual_time);
  const bool eligible = current.standing.virtual_time <= now;
  if (!queue.reweighed) return !eligible && earliest(queue, now) == &woken;
  return std::any_of(queue.waiting.begin(), queue.waiting.end(), [&](const Thread* thread) {
    return thread->standing.virtual_time <= now &&
           (!eligible || thread->standing.deadline < current.standing.deadline);
  });
}

}  // namespace rkv::sim
