#include "backends/verbs/soft/cm/identifier.hpp"

#include <cerrno>
#include <random>
#include <utility>

#include "backends/verbs/soft/verbs/limits.hpp"

namespace rkv::soft::cm {

Identifier::Identifier(EventChannel& events, void* user, rdma_port_space space, ibv_qp_type type)
    : rdma_cm_id{}, psn_(std::random_device{}() & limits::qpn_mask) {
  channel = &events;
  context = user;
  ps = space;
  qp_type = type;
}

Identifier::~Identifier() {
  // Requests that nobody has got: their ids take the mutex themselves.
  std::vector<std::unique_ptr<Identifier>> requested;
  {
    std::unique_lock lock(Reactor::instance().mutex());
    leave();
    for (const std::unique_ptr<Event>& each : events().withdraw(*this)) {
      if (each->event == RDMA_CM_EVENT_CONNECT_REQUEST) requested.emplace_back(from(each->id));
    }
    while (unacknowledged_ != 0) {
      Reactor::instance().wait_for_acknowledgement(lock);
    }
  }
  forget_route();
}

int Identifier::migrate(EventChannel& to, std::unique_ptr<EventChannel> own) {
  // Destroyed without the mutex, when nobody waits on it any more.
  std::unique_ptr<EventChannel> former;
  std::unique_lock lock(Reactor::instance().mutex());
  for (std::unique_ptr<Event>& each : events().withdraw(*this)) {
    to.push(std::move(each));
  }
  channel = &to;
  former = std::exchange(own_channel_, std::move(own));
  while (unacknowledged_ != 0) {
    Reactor::instance().wait_for_acknowledgement(lock);
  }
  return 0;
}

void Identifier::acknowledge() {
  const std::scoped_lock lock(Reactor::instance().mutex());
  --unacknowledged_;
  Reactor::instance().acknowledged();
}

std::unique_ptr<Event> Identifier::event_of(rdma_cm_event_type type, int status) {
  auto made = std::make_unique<Event>();
  made->owner = this;
  made->id = this;
  made->event = type;
  made->status = status;
  return made;
}

void Identifier::raise(rdma_cm_event_type type, int status) {
  events().push(event_of(type, status));
}

void Identifier::raise(rdma_cm_event_type type, int status, const Message& message) {
  std::unique_ptr<Event> made = event_of(type, status);
  describe(*made, message);
  events().push(std::move(made));
}

void Identifier::announce(std::unique_ptr<Identifier> requested) {
  std::unique_ptr<Event> made = event_of(RDMA_CM_EVENT_CONNECT_REQUEST, 0);
  describe(*made, *requested->peer_);
  made->listen_id = this;
  made->id = requested.release();
  events().push(std::move(made));
}

std::size_t Identifier::waiting_requests() const {
  return events().count(*this);
}

void Identifier::describe(Event& made, const Message& message) const {
  made.private_data = message.private_data;
  const std::uint8_t bytes = made.private_data.bytes;
  const void* const data = bytes == 0 ? nullptr : made.private_data.data.data();
  if (is_datagram()) {
    made.param.ud.private_data = data;
    made.param.ud.private_data_len = bytes;
    made.param.ud.ah_attr = address_of(message.gid);
    made.param.ud.qp_num = message.qp_num;
    made.param.ud.qkey = message.qkey;
  } else {
    rdma_conn_param& connection = made.param.conn;
    connection.private_data = data;
    connection.private_data_len = bytes;
    // What one side initiates the other one responds to.
    connection.responder_resources = message.initiator_depth;
    connection.initiator_depth = message.responder_resources;
    connection.flow_control = message.flow_control;
    connection.retry_count = message.retry_count;
    connection.rnr_retry_count = message.rnr_retry_count;
    connection.srq = message.srq ? 1 : 0;
    connection.qp_num = message.qp_num;
  }
}

}  // namespace rkv::soft::cm
