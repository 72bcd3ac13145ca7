// For tests of librdmacm's functions on soft0: channels and ids that destroy themselves, and events in turn.
//
// Ownership: declare a channel before its ids. Not thread-safe, as Catch2's macros are not.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace rkv::cm_test {

// Reaching it is always a failure.
inline constexpr int kDeadlineMs = 30'000;

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}
inline sockaddr* plain(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

struct Acknowledger {
  void operator()(rdma_cm_event* event) const { CHECK(rdma_ack_cm_event(event) == 0); }
};
using EventPtr = std::unique_ptr<rdma_cm_event, Acknowledger>;

class Channel {
 public:
  Channel() : channel_(rdma_create_event_channel()) { REQUIRE(channel_ != nullptr); }
  ~Channel() { rdma_destroy_event_channel(channel_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  rdma_event_channel* get() const { return channel_; }
  bool is_readable(int within_ms = 0) const {
    pollfd readable{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, within_ms) == 1;
  }
  // The next event, which must be of this kind.
  EventPtr expect(rdma_cm_event_type type) const {
    INFO("waiting for " << rdma_event_str(type));
    REQUIRE(is_readable(kDeadlineMs));
    rdma_cm_event* event = nullptr;
    REQUIRE(rdma_get_cm_event(channel_, &event) == 0);
    EventPtr owned(event);
    INFO("got " << rdma_event_str(event->event) << ", status " << event->status);
    REQUIRE(event->event == type);
    return owned;
  }

 private:
  rdma_event_channel* channel_;
};

struct IdDestroyer {
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    CHECK(rdma_destroy_id(id) == 0);
  }
};
using IdPtr = std::unique_ptr<rdma_cm_id, IdDestroyer>;

inline IdPtr make_id(const Channel& channel, rdma_port_space space = RDMA_PS_TCP) {
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_id(channel.get(), &id, nullptr, space) == 0);
  return IdPtr(id);
}

// Bound to a port of its own and listening.
inline IdPtr make_listener(const Channel& channel, rdma_port_space space = RDMA_PS_TCP, int backlog = 0) {
  IdPtr id = make_id(channel, space);
  sockaddr_in anywhere = loopback(0);
  REQUIRE(rdma_bind_addr(id.get(), plain(anywhere)) == 0);
  REQUIRE(rdma_listen(id.get(), backlog) == 0);
  REQUIRE(rdma_get_src_port(id.get()) != 0);
  return id;
}

inline void make_queue_pair(rdma_cm_id& id, ibv_qp_type type = IBV_QPT_RC) {
  ibv_qp_init_attr wanted{};
  wanted.cap = {
      .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
  wanted.qp_type = type;
  wanted.sq_sig_all = 1;
  REQUIRE(rdma_create_qp(&id, nullptr, &wanted) == 0);
}

// With its route resolved.
inline IdPtr make_active(const Channel& channel, std::uint16_t port, rdma_port_space space = RDMA_PS_TCP) {
  IdPtr id = make_id(channel, space);
  sockaddr_in destination = loopback(port);
  REQUIRE(rdma_resolve_addr(id.get(), nullptr, plain(destination), 1'000) == 0);
  channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  REQUIRE(rdma_resolve_route(id.get(), 1'000) == 0);
  channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

inline std::uint16_t port_of(rdma_cm_id& id) {
  return ntohs(rdma_get_src_port(&id));
}

inline rdma_conn_param with_data(std::string_view data) {
  rdma_conn_param wanted{};
  wanted.private_data = data.data();
  wanted.private_data_len = static_cast<std::uint8_t>(data.size());
  wanted.responder_resources = 1;
  wanted.initiator_depth = 1;
  wanted.retry_count = 7;
  wanted.rnr_retry_count = 7;
  return wanted;
}

inline std::string data_of(const rdma_conn_param& param) {
  return std::string(static_cast<const char*>(param.private_data), param.private_data_len);
}

inline ibv_qp_state state_of(const rdma_cm_id& id) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  REQUIRE(ibv_query_qp(id.qp, &attributes, IBV_QP_STATE, &initial) == 0);
  return attributes.qp_state;
}

// Fails with this errno.
inline void expect_error(int result, int error) {
  const int reason = errno;
  CHECK(result == -1);
  CHECK(reason == error);
}

}  // namespace rkv::cm_test
