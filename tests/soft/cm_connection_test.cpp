// librdmacm's functions between two ids of one process.
#include <fcntl.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/soft/cm_fixture.hpp"

namespace rkv::cm_test {
namespace {

// Two ids with queue pairs, connected.
struct Connected {
  Channel passive_channel, active_channel;
  IdPtr listener = make_listener(passive_channel);
  IdPtr active = make_active(active_channel, port_of(*listener));
  IdPtr passive;

  Connected() {
    make_queue_pair(*active);
    rdma_conn_param wanted = with_data("hello");
    REQUIRE(rdma_connect(active.get(), &wanted) == 0);
    {
      const EventPtr request = passive_channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
      passive.reset(request->id);
    }
    make_queue_pair(*passive);
    REQUIRE(rdma_accept(passive.get(), &wanted) == 0);
    active_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    passive_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  }
};

void exchange(rdma_cm_id& from, rdma_cm_id& to) {
  std::array<char, 16> received{}, sent{"a message"};
  ibv_mr* const region = rdma_reg_msgs(&to, received.data(), received.size());
  REQUIRE(region != nullptr);
  REQUIRE(rdma_post_recv(&to, nullptr, received.data(), received.size(), region) == 0);
  REQUIRE(rdma_post_send(&from, nullptr, sent.data(), sent.size(), nullptr, IBV_SEND_INLINE) == 0);
  ibv_wc completion{};
  REQUIRE(rdma_get_send_comp(&from, &completion) == 1);
  CHECK(completion.status == IBV_WC_SUCCESS);
  REQUIRE(rdma_get_recv_comp(&to, &completion) == 1);
  CHECK(completion.status == IBV_WC_SUCCESS);
  CHECK(received == sent);
  rdma_dereg_mr(region);
}

}  // namespace

TEST_CASE("both sides see each other's data and numbers, and can send", "[cm]") {
  const Channel passive_channel, active_channel;
  const IdPtr listener = make_listener(passive_channel);
  int mark = 0;
  listener->context = &mark;
  const IdPtr active = make_active(active_channel, port_of(*listener));
  CHECK(active->verbs != nullptr);
  CHECK(active->port_num == 1);
  CHECK(active->route.num_paths == 1);
  CHECK(rdma_get_src_port(active.get()) != 0);
  make_queue_pair(*active);

  rdma_conn_param wanted = with_data("from the active side");
  wanted.responder_resources = 3;
  wanted.initiator_depth = 5;
  wanted.rnr_retry_count = 6;
  wanted.retry_count = 4;
  REQUIRE(rdma_connect(active.get(), &wanted) == 0);
  EventPtr event = passive_channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  CHECK(event->status == 0);
  CHECK(event->listen_id == listener.get());
  CHECK(data_of(event->param.conn) == "from the active side");
  CHECK(event->param.conn.responder_resources == 5);
  CHECK(event->param.conn.initiator_depth == 3);
  CHECK(event->param.conn.retry_count == 4);
  CHECK(event->param.conn.rnr_retry_count == 6);
  CHECK(event->param.conn.qp_num == active->qp->qp_num);
  const IdPtr passive(event->id);
  event.reset();
  CHECK(passive->context == &mark);
  CHECK(passive->channel == passive_channel.get());
  CHECK(rdma_get_src_port(passive.get()) == rdma_get_src_port(listener.get()));
  CHECK(rdma_get_dst_port(passive.get()) == rdma_get_src_port(active.get()));

  make_queue_pair(*passive);
  wanted = with_data("from the passive side");
  wanted.responder_resources = 2;
  wanted.initiator_depth = 2;
  REQUIRE(rdma_accept(passive.get(), &wanted) == 0);
  event = active_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  CHECK(event->id == active.get());
  CHECK(data_of(event->param.conn) == "from the passive side");
  CHECK(event->param.conn.qp_num == passive->qp->qp_num);
  passive_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  CHECK(state_of(*active) == IBV_QPS_RTS);
  CHECK(state_of(*passive) == IBV_QPS_RTS);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  REQUIRE(ibv_query_qp(active->qp, &attributes, IBV_QP_MAX_QP_RD_ATOMIC, &initial) == 0);
  CHECK(attributes.max_rd_atomic == 2);  // what the other side grants
  CHECK(attributes.max_dest_rd_atomic == 2);
  CHECK(attributes.retry_cnt == 4);
  exchange(*active, *passive);
  exchange(*passive, *active);
}

TEST_CASE("a disconnection is told to each side once", "[cm]") {
  const Connected pair;
  const bool by_active = GENERATE(true, false);
  REQUIRE(rdma_disconnect((by_active ? pair.active : pair.passive).get()) == 0);
  CHECK(state_of(by_active ? *pair.active : *pair.passive) == IBV_QPS_ERR);
  pair.active_channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  pair.passive_channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  CHECK(rdma_disconnect((by_active ? pair.passive : pair.active).get()) == 0);
  CHECK_FALSE(pair.active_channel.is_readable(50));
  CHECK_FALSE(pair.passive_channel.is_readable());
}

TEST_CASE("an id that is destroyed disconnects", "[cm]") {
  Connected pair;
  pair.active.reset();
  pair.passive_channel.expect(RDMA_CM_EVENT_DISCONNECTED);
}

TEST_CASE("a rejection carries data", "[cm]") {
  const Channel passive_channel, active_channel;
  const IdPtr listener = make_listener(passive_channel);
  const IdPtr active = make_active(active_channel, port_of(*listener));
  make_queue_pair(*active);
  REQUIRE(rdma_connect(active.get(), nullptr) == 0);
  const IdPtr passive(passive_channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  const std::string longest(148, 'x');
  expect_error(rdma_reject(passive.get(), longest.data(), 149), EINVAL);
  REQUIRE(rdma_reject(passive.get(), longest.data(), 148) == 0);
  const EventPtr event = active_channel.expect(RDMA_CM_EVENT_REJECTED);
  CHECK(event->status == 28);
  CHECK(data_of(event->param.conn) == longest);
  CHECK(state_of(*active) == IBV_QPS_ERR);
  expect_error(rdma_accept(passive.get(), nullptr), EINVAL);
}

TEST_CASE("a port where nobody listens rejects", "[cm]") {
  const Channel channel;
  std::uint16_t port = 0;
  {
    const IdPtr id = make_id(channel);
    sockaddr_in address = loopback(0);
    REQUIRE(rdma_bind_addr(id.get(), plain(address)) == 0);
    port = port_of(*id);
  }
  const IdPtr active = make_active(channel, port);
  make_queue_pair(*active);
  REQUIRE(rdma_connect(active.get(), nullptr) == 0);
  CHECK(channel.expect(RDMA_CM_EVENT_REJECTED)->status == 8);
}

TEST_CASE("data longer than InfiniBand's messages carry is refused", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel);
  const IdPtr active = make_active(channel, port_of(*listener));
  make_queue_pair(*active);
  const std::string data(197, 'x');
  rdma_conn_param wanted = with_data(std::string_view(data).substr(0, 57));
  expect_error(rdma_connect(active.get(), &wanted), EINVAL);
  wanted = with_data(std::string_view(data).substr(0, 56));
  REQUIRE(rdma_connect(active.get(), &wanted) == 0);
  const IdPtr passive(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(*passive);
  wanted = with_data(data);
  expect_error(rdma_accept(passive.get(), &wanted), EINVAL);
}

TEST_CASE("a port belongs to one listener", "[cm]") {
  const Channel channel;
  const IdPtr listener = make_listener(channel);
  const IdPtr other = make_id(channel);
  sockaddr_in address = loopback(port_of(*listener));
  expect_error(rdma_bind_addr(other.get(), plain(address)), EADDRINUSE);
  address = loopback(0);
  CHECK(rdma_bind_addr(other.get(), plain(address)) == 0);
  expect_error(rdma_bind_addr(other.get(), plain(address)), EINVAL);
}

TEST_CASE("calls out of turn are refused", "[cm]") {
  const Channel channel;
  const IdPtr id = make_id(channel);
  expect_error(rdma_resolve_route(id.get(), 1'000), EINVAL);
  expect_error(rdma_connect(id.get(), nullptr), EINVAL);
  expect_error(rdma_accept(id.get(), nullptr), EINVAL);
  expect_error(rdma_reject(id.get(), nullptr, 0), EINVAL);
  expect_error(rdma_disconnect(id.get()), EINVAL);
  expect_error(rdma_establish(id.get()), EINVAL);
  ibv_qp_init_attr wanted{};
  expect_error(rdma_create_qp(id.get(), nullptr, &wanted), EINVAL);
  rdma_cm_id* request = nullptr;
  expect_error(rdma_get_request(id.get(), &request), EINVAL);
}

TEST_CASE("a channel without events does not block a non-blocking reader", "[cm]") {
  const Channel channel;
  REQUIRE(::fcntl(channel.get()->fd, F_SETFL, O_NONBLOCK) == 0);
  rdma_cm_event* event = nullptr;
  expect_error(rdma_get_cm_event(channel.get(), &event), EAGAIN);
}

TEST_CASE("events of an id that is destroyed are withdrawn", "[cm]") {
  const Channel channel;
  IdPtr id = make_id(channel);
  sockaddr_in destination = loopback(1);
  REQUIRE(rdma_resolve_addr(id.get(), nullptr, plain(destination), 1'000) == 0);
  CHECK(channel.is_readable());
  id.reset();
  CHECK_FALSE(channel.is_readable());
}

TEST_CASE("requests that nobody got are rejected when the listener goes", "[cm]") {
  const Channel passive_channel, active_channel;
  IdPtr listener = make_listener(passive_channel);
  const IdPtr active = make_active(active_channel, port_of(*listener));
  make_queue_pair(*active);
  REQUIRE(rdma_connect(active.get(), nullptr) == 0);
  REQUIRE(passive_channel.is_readable(kDeadlineMs));
  listener.reset();
  CHECK_FALSE(passive_channel.is_readable());
  CHECK(active_channel.expect(RDMA_CM_EVENT_REJECTED)->status == 28);
}

TEST_CASE("more requests than the backlog holds are rejected", "[cm]") {
  const Channel passive_channel, active_channel;
  const IdPtr listener = make_listener(passive_channel, RDMA_PS_TCP, 1);
  const IdPtr first = make_active(active_channel, port_of(*listener));
  const IdPtr second = make_active(active_channel, port_of(*listener));
  make_queue_pair(*first);
  make_queue_pair(*second);
  REQUIRE(rdma_connect(first.get(), nullptr) == 0);
  REQUIRE(passive_channel.is_readable(kDeadlineMs));
  REQUIRE(rdma_connect(second.get(), nullptr) == 0);
  const EventPtr event = active_channel.expect(RDMA_CM_EVENT_REJECTED);
  CHECK(event->id == second.get());
  CHECK(event->status == 3);
}

TEST_CASE("destruction waits for the acknowledgement of events", "[cm]") {
  const Channel channel;
  rdma_cm_id* id = make_id(channel).release();
  sockaddr_in destination = loopback(1);
  REQUIRE(rdma_resolve_addr(id, nullptr, plain(destination), 1'000) == 0);
  rdma_cm_event* event = nullptr;
  REQUIRE(rdma_get_cm_event(channel.get(), &event) == 0);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    rdma_destroy_id(id);
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(destroyed);
  CHECK(rdma_ack_cm_event(event) == 0);
  destroyer.join();
}

TEST_CASE("an id takes its events along to another channel", "[cm]") {
  const Channel from, to;
  const IdPtr id = make_id(from);
  sockaddr_in destination = loopback(1);
  REQUIRE(rdma_resolve_addr(id.get(), nullptr, plain(destination), 1'000) == 0);
  REQUIRE(rdma_migrate_id(id.get(), to.get()) == 0);
  CHECK_FALSE(from.is_readable());
  to.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  CHECK(id->channel == to.get());
  REQUIRE(rdma_migrate_id(id.get(), nullptr) == 0);
  CHECK(rdma_resolve_route(id.get(), 1'000) == 0);  // synchronous now
  CHECK(id->event->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
  REQUIRE(rdma_migrate_id(id.get(), to.get()) == 0);
}

TEST_CASE("synchronous endpoints connect, exchange a message and disconnect", "[cm]") {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* where = nullptr;
  REQUIRE(rdma_getaddrinfo("127.0.0.1", "0", &hints, &where) == 0);
  ibv_qp_init_attr wanted{};
  wanted.cap = {
      .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 16};
  wanted.sq_sig_all = 1;
  rdma_cm_id* listener = nullptr;
  ibv_qp_init_attr passive_wanted = wanted;
  REQUIRE(rdma_create_ep(&listener, where, nullptr, &passive_wanted) == 0);
  rdma_freeaddrinfo(where);
  REQUIRE(rdma_listen(listener, 1) == 0);

  hints.ai_flags = 0;
  const std::string port = std::to_string(port_of(*listener));
  REQUIRE(rdma_getaddrinfo("127.0.0.1", port.c_str(), &hints, &where) == 0);
  rdma_cm_id* active = nullptr;
  REQUIRE(rdma_create_ep(&active, where, nullptr, &wanted) == 0);
  rdma_freeaddrinfo(where);

  std::atomic<int> connected{1};
  std::thread connecting([&] { connected = rdma_connect(active, nullptr); });
  rdma_cm_id* passive = nullptr;
  REQUIRE(rdma_get_request(listener, &passive) == 0);
  REQUIRE(passive->qp != nullptr);
  REQUIRE(rdma_accept(passive, nullptr) == 0);
  connecting.join();
  REQUIRE(connected == 0);
  exchange(*active, *passive);
  CHECK(rdma_disconnect(active) == 0);
  CHECK(rdma_disconnect(passive) == 0);
  CHECK(rdma_disconnect(passive) == 0);
  rdma_destroy_ep(active);
  rdma_destroy_ep(passive);
  rdma_destroy_ep(listener);
}

TEST_CASE("a synchronous connection that is refused fails", "[cm]") {
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* where = nullptr;
  REQUIRE(rdma_getaddrinfo("127.0.0.1", "1", &hints, &where) == 0);
  rdma_cm_id* active = nullptr;
  ibv_qp_init_attr wanted{};
  wanted.cap = {
      .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  REQUIRE(rdma_create_ep(&active, where, nullptr, &wanted) == 0);
  rdma_freeaddrinfo(where);
  expect_error(rdma_connect(active, nullptr), ECONNREFUSED);
  rdma_destroy_ep(active);
}

TEST_CASE("queue pairs of the application's own are connected by hand", "[cm]") {
  const Channel passive_channel, active_channel;
  const IdPtr listener = make_listener(passive_channel);
  const IdPtr active = make_active(active_channel, port_of(*listener));
  rdma_conn_param wanted = with_data("");
  wanted.qp_num = 0x123;
  REQUIRE(rdma_connect(active.get(), &wanted) == 0);
  const IdPtr passive(passive_channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = 0;
  REQUIRE(rdma_init_qp_attr(passive.get(), &attributes, &mask) == 0);
  CHECK(attributes.dest_qp_num == 0x123);
  CHECK((mask & IBV_QP_AV) != 0);
  wanted.qp_num = 0x456;
  REQUIRE(rdma_accept(passive.get(), &wanted) == 0);
  CHECK(active_channel.expect(RDMA_CM_EVENT_CONNECT_RESPONSE)->param.conn.qp_num == 0x456);
  CHECK_FALSE(passive_channel.is_readable());
  REQUIRE(rdma_establish(active.get()) == 0);
  passive_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
}

TEST_CASE("a datagram service is looked up", "[cm]") {
  const Channel passive_channel, active_channel;
  const IdPtr listener = make_listener(passive_channel, RDMA_PS_UDP);
  const IdPtr active = make_active(active_channel, port_of(*listener), RDMA_PS_UDP);
  make_queue_pair(*active, IBV_QPT_UD);
  CHECK(state_of(*active) == IBV_QPS_RTS);
  rdma_conn_param wanted = with_data("who");
  REQUIRE(rdma_connect(active.get(), &wanted) == 0);
  EventPtr event = passive_channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  CHECK(std::string_view(static_cast<const char*>(event->param.ud.private_data),
                         event->param.ud.private_data_len) == "who");
  const IdPtr passive(event->id);
  event.reset();
  SECTION("and answers") {
    make_queue_pair(*passive, IBV_QPT_UD);
    REQUIRE(rdma_accept(passive.get(), nullptr) == 0);
    event = active_channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    CHECK(event->param.ud.qp_num == passive->qp->qp_num);
    CHECK(event->param.ud.qkey == RDMA_UDP_QKEY);
    ibv_ah* const handle = ibv_create_ah(active->pd, &event->param.ud.ah_attr);
    CHECK(handle != nullptr);
    if (handle != nullptr) ibv_destroy_ah(handle);
    CHECK_FALSE(passive_channel.is_readable(50));
  }
  SECTION("and refuses") {
    REQUIRE(rdma_reject(passive.get(), "no", 2) == 0);
    event = active_channel.expect(RDMA_CM_EVENT_UNREACHABLE);
    CHECK(event->status == 2);
  }
}

TEST_CASE("options are checked", "[cm]") {
  const Channel channel;
  const IdPtr id = make_id(channel);
  std::uint8_t timeout = 16;
  CHECK(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1) == 0);
  expect_error(rdma_set_option(id.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 4), EINVAL);
  expect_error(rdma_set_option(id.get(), RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &timeout, 1), EOPNOTSUPP);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  int mask = 0;
  REQUIRE(rdma_init_qp_attr(id.get(), &attributes, &mask) == 0);
  CHECK(attributes.timeout == 16);
}

TEST_CASE("soft0 is the device of the connection manager", "[cm]") {
  int count = 0;
  ibv_context** const devices = rdma_get_devices(&count);
  REQUIRE(devices != nullptr);
  CHECK(count == 1);
  CHECK(std::string(ibv_get_device_name(devices[0]->device)) == "soft0");
  CHECK(devices[1] == nullptr);
  rdma_free_devices(devices);
}

TEST_CASE("what soft0 lacks is refused", "[cm]") {
  const Channel channel;
  const IdPtr id = make_id(channel);
  sockaddr_in group = loopback(0);
  expect_error(rdma_join_multicast(id.get(), plain(group), nullptr), EOPNOTSUPP);
  expect_error(rdma_leave_multicast(id.get(), plain(group)), EOPNOTSUPP);
  ibv_ece ece{};
  expect_error(rdma_set_local_ece(id.get(), &ece), EOPNOTSUPP);
  rdma_cm_id* other = nullptr;
  expect_error(rdma_create_id(channel.get(), &other, nullptr, RDMA_PS_IPOIB), EPROTONOSUPPORT);
}

}  // namespace rkv::cm_test
