// Event channels and what comes out of them.
#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"
#include "backends/verbs/soft/cm/api/queue_pair_states.hpp"

namespace rkv::soft::cm {
namespace {

// The rest of what an event brings about happens when somebody gets it, in that thread. False: nobody shall.
bool take_effect(Event& event) {
  Identifier& id = *Identifier::from(event.id);
  switch (event.event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      if (!event.owner->is_synchronous()) return true;
      if (std::unique_ptr<EventChannel> own = EventChannel::open(); own != nullptr) {
        EventChannel& to = *own;
        id.migrate(to, std::move(own));
        return true;
      }
      delete &id;
      return false;
    case RDMA_CM_EVENT_CONNECT_RESPONSE: {
      if (id.qp == nullptr) return true;
      const int error = make_ready_to_send(id);
      if (error == 0 && id.establish() == 0) {
        event.event = RDMA_CM_EVENT_ESTABLISHED;
        return true;
      }
      make_broken(id);
      id.reject(reject_reason::consumer_defined, nullptr, 0);
      id.connect_failed = true;
      event.event = RDMA_CM_EVENT_CONNECT_ERROR;
      event.status = -error;
      return true;
    }
    case RDMA_CM_EVENT_REJECTED:
      if (!id.connect_failed) make_broken(id);
      return !id.connect_failed;
    case RDMA_CM_EVENT_DISCONNECTED:
      return !id.connect_failed;
    default:
      return true;
  }
}

}  // namespace

int completed(Identifier& id, int error) {
  if (error != 0 || !id.is_synchronous()) return outcome(error);
  drop_event(id);
  if (rdma_get_cm_event(id.channel, &id.event) != 0) return -1;
  const int status = id.event->status;
  if (status == 0) return 0;
  if (id.event->event == RDMA_CM_EVENT_REJECTED) return outcome(ECONNREFUSED);
  return outcome(status < 0 ? -status : status);
}

void drop_event(rdma_cm_id& id) {
  if (id.event != nullptr) {
    rdma_ack_cm_event(id.event);
    id.event = nullptr;
  }
}

}  // namespace rkv::soft::cm

using rkv::soft::cm::Event;
using rkv::soft::cm::EventChannel;
using rkv::soft::cm::outcome;
using rkv::soft::cm::Reactor;
using rkv::soft::cm::serves;

RKV_SOFT_EXPORT rdma_event_channel* rdma_create_event_channel() {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_event_channel, "RDMACM_1.0");
  return EventChannel::open().release();
}

RKV_SOFT_EXPORT void rdma_destroy_event_channel(rdma_event_channel* channel) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_destroy_event_channel, "RDMACM_1.0", channel);
  EventChannel::retire(std::unique_ptr<EventChannel>(EventChannel::from(channel)));
}

RKV_SOFT_EXPORT int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_get_cm_event, "RDMACM_1.0", channel, event);
  if (event == nullptr) return outcome(EINVAL);
  EventChannel& events = *EventChannel::from(channel);
  while (events.take()) {
    std::unique_ptr<Event> next;
    {
      const std::scoped_lock lock(Reactor::instance().mutex());
      next = events.pop();
      if (next == nullptr) continue;
      next->owner->deliver();
    }
    if (rkv::soft::cm::take_effect(*next)) {
      *event = next.release();
      return 0;
    }
    next->owner->acknowledge();
  }
  return -1;
}

RKV_SOFT_EXPORT int rdma_ack_cm_event(rdma_cm_event* event) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_ack_cm_event, "RDMACM_1.0", event);
  if (event == nullptr) return outcome(EINVAL);
  const std::unique_ptr<Event> acknowledged(Event::from(event));
  acknowledged->owner->acknowledge();
  return 0;
}

RKV_SOFT_EXPORT const char* rdma_event_str(rdma_cm_event_type event) {
  switch (event) {
#define RKV_NAME(name) \
  case name:           \
    return #name
    RKV_NAME(RDMA_CM_EVENT_ADDR_RESOLVED);
    RKV_NAME(RDMA_CM_EVENT_ADDR_ERROR);
    RKV_NAME(RDMA_CM_EVENT_ROUTE_RESOLVED);
    RKV_NAME(RDMA_CM_EVENT_ROUTE_ERROR);
    RKV_NAME(RDMA_CM_EVENT_CONNECT_REQUEST);
    RKV_NAME(RDMA_CM_EVENT_CONNECT_RESPONSE);
    RKV_NAME(RDMA_CM_EVENT_CONNECT_ERROR);
    RKV_NAME(RDMA_CM_EVENT_UNREACHABLE);
    RKV_NAME(RDMA_CM_EVENT_REJECTED);
    RKV_NAME(RDMA_CM_EVENT_ESTABLISHED);
    RKV_NAME(RDMA_CM_EVENT_DISCONNECTED);
    RKV_NAME(RDMA_CM_EVENT_DEVICE_REMOVAL);
    RKV_NAME(RDMA_CM_EVENT_MULTICAST_JOIN);
    RKV_NAME(RDMA_CM_EVENT_MULTICAST_ERROR);
    RKV_NAME(RDMA_CM_EVENT_ADDR_CHANGE);
    RKV_NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT);
#undef RKV_NAME
  }
  return "UNKNOWN EVENT";
}
