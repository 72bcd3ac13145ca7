#include "backends/sim/engine/world.hpp"

namespace rkv::sim {

void World::handle_next() {
  const EventQueue::Event event = events_.pop();
  now_ = event.at;
  event.handler->on_event(event.tag);
  if (++handled_ % events_a_heartbeat == 0 && heartbeat_) heartbeat_();
}

bool World::advance(Ps limit) {
  while (woken_.empty()) {
    if (events_.empty()) return false;
    if (events_.next_time() > limit) {
      now_ = limit;
      return true;
    }
    handle_next();
  }
  return true;
}

bool World::step(Ps limit) {
  if (!woken_.empty()) return true;
  if (events_.empty()) return false;
  if (events_.next_time() > limit) {
    now_ = limit;
  } else {
    handle_next();
  }
  return true;
}

void World::take_woken(std::vector<Thread*>& out) {
  out.swap(woken_);
  woken_.clear();
}

}  // namespace rkv::sim
