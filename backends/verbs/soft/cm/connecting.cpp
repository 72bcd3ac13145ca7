// Forming and ending connections, and looking up datagram services.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/verbs/soft/cm/identifier.hpp"
#include "backends/verbs/soft/cm/socket_address.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint64_t reply_patience_ns = 60'000'000'000;       // about what InfiniBand's manager has
constexpr std::uint64_t disconnect_patience_ns = 10'000'000'000;  // for the peer to close its side
constexpr std::size_t default_backlog = 1'024;
constexpr auto max_resources = static_cast<std::uint8_t>(limits::max_rd_atomic);
// Statuses of SIDR_REP, InfiniBand's answer to a lookup.
constexpr std::uint16_t lookup_unsupported = 1;
constexpr std::uint16_t lookup_rejected = 2;

}  // namespace

int Identifier::listen(int backlog) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ == State::idle) {
    const sockaddr_in anywhere{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    if (const int error = bind_socket(reinterpret_cast<const sockaddr&>(anywhere)); error != 0) return error;
    state_ = State::bound;
  }
  if (state_ != State::bound) return EINVAL;
  const auto room = backlog > 0 ? static_cast<std::size_t>(backlog) : default_backlog;
  listener_ = std::make_unique<Listener>(std::move(socket_), *this, room);
  state_ = State::listening;
  const int error = listener_->start();
  if (error != 0) {
    listener_.reset();
    state_ = State::closed;
  }
  return error;
}

int Identifier::take_resources(const rdma_conn_param* wanted) {
  const bool requested = state_ == State::requested;
  if (wanted != nullptr && wanted->responder_resources != RDMA_MAX_RESP_RES) {
    if (wanted->responder_resources > max_resources) return EINVAL;
    responder_resources_ = wanted->responder_resources;
  } else if (!requested) {
    responder_resources_ = max_resources;
  }
  if (wanted != nullptr && wanted->initiator_depth != RDMA_MAX_INIT_DEPTH) {
    if (wanted->initiator_depth > max_resources) return EINVAL;
    initiator_depth_ = wanted->initiator_depth;
  } else if (!requested) {
    initiator_depth_ = max_resources;
  }
  return 0;
}

Message Identifier::message_of(Kind kind) const {
  Message message;
  message.kind = kind;
  message.port_space = static_cast<std::uint16_t>(ps);
  message.gid = device_gid();
  message.mtu = static_cast<std::uint8_t>(wire::Endpoint::instance().mtu());
  message.psn = psn_;
  message.responder_resources = responder_resources_;
  message.initiator_depth = initiator_depth_;
  return message;
}

int Identifier::add_private_data(Message& message, const void* data, std::size_t bytes) const {
  if (data == nullptr) bytes = 0;
  PrivateData& all = message.private_data;
  if (all.bytes + bytes > private_data_limit(message.kind, message.port_space)) return EINVAL;
  if (bytes != 0) std::memcpy(all.data.data() + all.bytes, data, bytes);
  all.bytes = static_cast<std::uint8_t>(all.bytes + bytes);
  return 0;
}

int Identifier::connect(const rdma_conn_param* wanted) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::route_resolved) return EINVAL;
  if (!is_datagram() && qp == nullptr && wanted == nullptr) return EINVAL;
  if (const int error = take_resources(wanted); error != 0) return error;
  retry_count_ = wanted != nullptr ? std::min(wanted->retry_count, max_retries) : max_retries;
  Message request = message_of(Kind::request);
  request.retry_count = retry_count_;
  request.rnr_retry_count = wanted != nullptr ? std::min(wanted->rnr_retry_count, max_retries) : max_retries;
  request.flow_control = wanted != nullptr ? wanted->flow_control : std::uint8_t{0};
  if (qp != nullptr) {
    request.qp_num = qp->qp_num;
    request.srq = qp->srq != nullptr;
  } else if (wanted != nullptr) {
    request.qp_num = wanted->qp_num & limits::qpn_mask;
    request.srq = wanted->srq != 0;
  }
  int error = add_private_data(request, connect_data.data(), connect_data.size());
  if (error == 0 && wanted != nullptr) {
    error = add_private_data(request, wanted->private_data, wanted->private_data_len);
  }
  if (error != 0) return error;
  request_ = request;
  stream_ = std::make_unique<Stream>(std::move(socket_), *this);
  state_ = State::connecting;
  error = stream_->connect(route.addr.dst_addr);
  if (error != 0) {
    stream_.reset();
    state_ = State::closed;
    return error;
  }
  return 0;
}

std::unique_ptr<Identifier> Identifier::of_request(Identifier& listening, const Message& request) {
  auto made =
      std::make_unique<Identifier>(listening.events(), listening.context, listening.ps, listening.qp_type);
  if (made->attach_device() != 0) return nullptr;
  made->state_ = State::requested;
  made->peer_ = request;
  made->responder_resources_ = std::min(request.initiator_depth, max_resources);
  made->initiator_depth_ = std::min(request.responder_resources, max_resources);
  made->retry_count_ = request.retry_count;
  made->rnr_retry_count_ = request.rnr_retry_count;
  made->route.addr.addr.ibaddr.dgid = request.gid;
  made->describe_route();
  return made;
}

void Identifier::adopt(std::unique_ptr<Stream> stream) {
  stream_ = std::move(stream);
  stream_->change_owner(*this);
  stream_->clear_deadline();
  bound_address(stream_->socket(), route.addr.src_storage);
  socklen_t bytes = sizeof route.addr.dst_storage;
  ::getpeername(stream_->socket(), &route.addr.dst_addr, &bytes);
}

int Identifier::begin_accepting(const rdma_conn_param* wanted) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::requested || (qp == nullptr && wanted == nullptr)) return EINVAL;
  return is_datagram() ? 0 : take_resources(wanted);
}

int Identifier::accept(const rdma_conn_param* wanted) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::requested || (qp == nullptr && wanted == nullptr)) return EINVAL;
  Message reply = message_of(Kind::reply);
  reply.qp_num = qp != nullptr ? qp->qp_num : wanted->qp_num & limits::qpn_mask;
  reply.srq = qp != nullptr ? qp->srq != nullptr : wanted->srq != 0;
  reply.qkey = is_datagram() ? RDMA_UDP_QKEY : 0;
  reply.rnr_retry_count = wanted != nullptr ? std::min(wanted->rnr_retry_count, max_retries) : max_retries;
  if (wanted != nullptr) {
    reply.flow_control = wanted->flow_control;
    const int error = add_private_data(reply, wanted->private_data, wanted->private_data_len);
    if (error != 0) return error;
  }
  if (is_datagram()) {
    answer_lookup(reply);
    return 0;
  }
  if (!stream_->send(reply)) return ECONNRESET;
  state_ = State::accepted;
  return 0;
}

void Identifier::answer_lookup(const Message& answer) {
  // Nobody learns whether it arrives, as with a datagram.
  if (stream_ != nullptr) stream_->send(answer);
  stream_.reset();
  state_ = State::closed;
}

int Identifier::reject(std::uint16_t reason, const void* data, std::size_t bytes) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::requested && state_ != State::responded) return EINVAL;
  Message refusal = message_of(Kind::reject);
  refusal.reason = is_datagram() ? lookup_rejected : reason;
  if (const int error = add_private_data(refusal, data, bytes); error != 0) return error;
  if (is_datagram()) {
    answer_lookup(refusal);
    return 0;
  }
  stream_->send(refusal);
  stream_.reset();
  state_ = State::closed;
  return 0;
}

int Identifier::establish() {
  const std::scoped_lock lock(Reactor::instance().mutex());
  // A peer that has gone in the meantime is told of by an event.
  if (state_ == State::closed && peer_) return 0;
  if (state_ != State::responded) return EINVAL;
  stream_->send(message_of(Kind::ready));
  state_ = State::established;
  return 0;
}

int Identifier::notify(ibv_event_type of_device) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (of_device != IBV_EVENT_COMM_EST) return EINVAL;
  if (state_ == State::established) return 0;
  if (state_ != State::accepted) return EINVAL;
  state_ = State::established;
  raise(RDMA_CM_EVENT_ESTABLISHED, 0);
  return 0;
}

int Identifier::disconnect() {
  const std::scoped_lock lock(Reactor::instance().mutex());
  switch (state_) {
    case State::accepted:
    case State::responded:
    case State::established:
      stream_->send(message_of(Kind::disconnect));
      stream_->set_deadline(disconnect_patience_ns);
      state_ = State::disconnecting;
      return 0;
    case State::disconnecting:
      return 0;
    case State::closed:
      return peer_ && !is_datagram() ? 0 : EINVAL;
    default:
      return EINVAL;
  }
}

bool Identifier::expects_event() const {
  const std::scoped_lock lock(Reactor::instance().mutex());
  return state_ != State::closed || events().count(*this) != 0;
}

void Identifier::leave() {
  listener_.reset();
  if (stream_ == nullptr) return;
  if (state_ == State::requested) {
    Message refusal = message_of(Kind::reject);
    refusal.reason = is_datagram() ? lookup_rejected : reject_reason::consumer_defined;
    stream_->send(refusal);
  } else if (state_ == State::accepted || state_ == State::responded || state_ == State::established) {
    stream_->send(message_of(Kind::disconnect));
  }
  stream_.reset();
  state_ = State::closed;
}

void Identifier::end(rdma_cm_event_type type, int status) {
  stream_.reset();
  state_ = State::closed;
  raise(type, status);
}

void Identifier::end(rdma_cm_event_type type, int status, const Message& message) {
  stream_.reset();
  state_ = State::closed;
  raise(type, status, message);
}

void Identifier::on_connected(int error) {
  if (error == 0) {
    stream_->send(request_);
    stream_->set_deadline(reply_patience_ns);
  } else if (error != ECONNREFUSED) {
    end(RDMA_CM_EVENT_UNREACHABLE, -error);
  } else if (is_datagram()) {
    end(RDMA_CM_EVENT_UNREACHABLE, lookup_unsupported);
  } else {
    end(RDMA_CM_EVENT_REJECTED, reject_reason::invalid_service_id);
  }
}

void Identifier::reply_came(const Message& message) {
  route.addr.addr.ibaddr.dgid = message.gid;
  if (is_datagram()) {
    end(RDMA_CM_EVENT_ESTABLISHED, 0, message);
    return;
  }
  stream_->clear_deadline();
  responder_resources_ = std::min(responder_resources_, message.initiator_depth);
  initiator_depth_ = std::min(initiator_depth_, message.responder_resources);
  rnr_retry_count_ = message.rnr_retry_count;
  peer_ = message;
  state_ = State::responded;
  raise(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, message);
}

bool Identifier::on_message(const Message& message) {
  if (message.kind == Kind::reply && state_ == State::connecting && message.port_space == ps) {
    reply_came(message);
  } else if (message.kind == Kind::reject && state_ == State::connecting && is_datagram()) {
    end(RDMA_CM_EVENT_UNREACHABLE, message.reason, message);
  } else if (message.kind == Kind::reject && (state_ == State::connecting || state_ == State::accepted)) {
    end(RDMA_CM_EVENT_REJECTED, message.reason, message);
  } else if (message.kind == Kind::ready && state_ == State::accepted) {
    state_ = State::established;
    raise(RDMA_CM_EVENT_ESTABLISHED, 0);
  } else if (message.kind == Kind::disconnect && state_ == State::accepted) {
    end(RDMA_CM_EVENT_DISCONNECTED, 0);
  } else if (message.kind != Kind::ready || state_ == State::connecting || state_ == State::requested) {
    on_closed(message.kind == Kind::disconnect ? ECONNRESET : EPROTO);
  }
  return stream_ != nullptr;
}

void Identifier::on_closed(int error) {
  switch (state_) {
    case State::connecting:
    case State::accepted:
      end(RDMA_CM_EVENT_UNREACHABLE, -error);
      return;
    case State::requested:
      if (is_datagram()) {
        stream_.reset();
      } else {
        end(RDMA_CM_EVENT_REJECTED, reject_reason::timeout);
      }
      return;
    default:
      end(RDMA_CM_EVENT_DISCONNECTED, 0);
      return;
  }
}

void Identifier::on_deadline() {
  on_closed(ETIMEDOUT);
}

}  // namespace rkv::soft::cm
