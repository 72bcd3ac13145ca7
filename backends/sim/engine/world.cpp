#include "backends/sim/engine/world.hpp"

namespace rkv::sim {

void World::handle_next() {
  const EventQueue::Event event = events_.pop();
  now_ = event.at;
  event.handler->on_event(event.tag);
  if (++handled_ % events_a_heartbeat == 0 && heartbeat_) heartbeat_();
}

bool World::next_is_later(Ps limit) {
  if (!events_.empty() && events_.next_time() <= limit) return false;
  if (limit < forever) now_ = limit;
  return true;
}

bool World::advance(Ps limit) {
  while (!must_stop()) {
    if (next_is_later(limit)) return !events_.empty();
    handle_next();
  }
  return true;
}

bool World::step(Ps limit) {
  if (must_stop()) return true;
  if (next_is_later(limit)) return !events_.empty();
  handle_next();
  return true;
}

void World::take_woken(std::vector<Thread*>& out) {
  out.swap(woken_);
  woken_.clear();
  handed_over_ = false;
}

}  // namespace rkv::sim
