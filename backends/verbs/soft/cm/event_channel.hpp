// Events of ids, and the channel that they wait in.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "backends/verbs/soft/cm/message.hpp"
#include "backends/verbs/soft/sync/event_tokens.hpp"

namespace rkv::soft::cm {

class Identifier;

struct Event final : public rdma_cm_event {
  Event() : rdma_cm_event{} {}
  static Event* from(rdma_cm_event* event) { return static_cast<Event*>(event); }

  Identifier* owner = nullptr;  // the id that can't be destroyed before the event is acknowledged
  PrivateData private_data;
};

// The public part holds the descriptor, which is readable while events wait. Everything but take() wants the
// reactor's mutex held.
class EventChannel final : public rdma_event_channel {
 public:
  static EventChannel* from(rdma_event_channel* channel) { return static_cast<EventChannel*>(channel); }
  // Null with errno set.
  static std::unique_ptr<EventChannel> open();

  // Destroys it a little later. A program's thread may be about to wait for its next event when another one,
  // which has seen the last acknowledged, destroys the channel (rping); in the kernel, too, such a thread
  // waits for ever.
  static void retire(std::unique_ptr<EventChannel> channel);

  // Blocks until there is an event, as the descriptor's flags say. False with errno set: EAGAIN, EINTR.
  bool take() { return tokens_.take(); }
  // After take(). Null: the event was withdrawn meanwhile.
  std::unique_ptr<Event> pop();
  void push(std::unique_ptr<Event> event);
  // Those of one id that nobody has got yet.
  std::vector<std::unique_ptr<Event>> withdraw(const Identifier& owner);
  std::size_t count(const Identifier& owner) const;

 private:
  EventChannel() : rdma_event_channel{} {}

  EventTokens tokens_;
  std::deque<std::unique_ptr<Event>> events_;
};

}  // namespace rkv::soft::cm
