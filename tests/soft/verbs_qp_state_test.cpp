// The queue pair state machine, from InfiniBand's table of QP transitions (vol. 1, 11.2.4.2, table 96) and
// the required attributes in ibv_modify_qp(3), for RC, UC and UD.
#include <array>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::array kTypes{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
constexpr std::array kStates{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR};
// Every attribute of ibv_qp_attr_mask that a port of one path can be given.
constexpr std::array kAttributes{IBV_QP_ACCESS_FLAGS,
                                 IBV_QP_PKEY_INDEX,
                                 IBV_QP_PORT,
                                 IBV_QP_QKEY,
                                 IBV_QP_AV,
                                 IBV_QP_PATH_MTU,
                                 IBV_QP_TIMEOUT,
                                 IBV_QP_RETRY_CNT,
                                 IBV_QP_RNR_RETRY,
                                 IBV_QP_RQ_PSN,
                                 IBV_QP_SQ_PSN,
                                 IBV_QP_DEST_QPN,
                                 IBV_QP_MIN_RNR_TIMER,
                                 IBV_QP_MAX_QP_RD_ATOMIC,
                                 IBV_QP_MAX_DEST_RD_ATOMIC};

struct Transition {
  int required = 0;
  int optional = 0;  // beside IBV_QP_CUR_STATE, alternate paths and SQD notification
};

// nullopt: the specification has no such transition.
std::optional<Transition> transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const bool rc = type == IBV_QPT_RC;
  const bool ud = type == IBV_QPT_UD;
  const int access_or_qkey = ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  if (to == IBV_QPS_RESET) return Transition{};
  if (to == IBV_QPS_ERR) return Transition{};
  switch (from) {
    case IBV_QPS_RESET:
      if (to == IBV_QPS_INIT) return Transition{Endpoint::init_mask(type) & ~IBV_QP_STATE, 0};
      return std::nullopt;
    case IBV_QPS_INIT:
      if (to == IBV_QPS_INIT) return Transition{0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | access_or_qkey};
      if (to == IBV_QPS_RTR)
        return Transition{Endpoint::rtr_mask(type) & ~IBV_QP_STATE, IBV_QP_PKEY_INDEX | access_or_qkey};
      return std::nullopt;
    case IBV_QPS_RTR:
      if (to == IBV_QPS_RTS)
        return Transition{Endpoint::rts_mask(type) & ~IBV_QP_STATE,
                          access_or_qkey | (rc ? IBV_QP_MIN_RNR_TIMER : 0)};
      return std::nullopt;
    case IBV_QPS_RTS:
      if (to == IBV_QPS_RTS) return Transition{0, access_or_qkey | (rc ? IBV_QP_MIN_RNR_TIMER : 0)};
      if (to == IBV_QPS_SQD) return Transition{};
      return std::nullopt;
    case IBV_QPS_SQD:
      if (to == IBV_QPS_RTS) return Transition{0, access_or_qkey | (rc ? IBV_QP_MIN_RNR_TIMER : 0)};
      if (to == IBV_QPS_SQD)
        return Transition{
            0, IBV_QP_PKEY_INDEX | access_or_qkey | (ud ? 0 : IBV_QP_AV) |
                   (rc ? IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
                       : 0)};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// InfiniBand's text lets any state go to ERR, Linux' table of transitions lacks this one.
bool is_disputed(ibv_qp_state from, ibv_qp_state to) {
  return from == IBV_QPS_RESET && to == IBV_QPS_ERR;
}

// Takes the endpoint from wherever it is to `state`, by the shortest legal way.
void drive_to(const Endpoint& endpoint, ibv_qp_state state) {
  // Drained first: rdma_rxe lets no queue pair go to RESET before.
  if (state_of(endpoint.qp()) == IBV_QPS_SQD) require_drained(endpoint.qp());
  endpoint.reset();
  if (state == IBV_QPS_RESET) return;
  endpoint.to_init();
  if (state == IBV_QPS_INIT) return;
  if (state == IBV_QPS_ERR) {
    REQUIRE(move_to(endpoint.qp(), IBV_QPS_ERR) == 0);
    return;
  }
  endpoint.to_rtr(endpoint.number());
  if (state == IBV_QPS_RTR) return;
  endpoint.to_rts(endpoint.number());
  if (state == IBV_QPS_SQD) {
    REQUIRE(move_to(endpoint.qp(), IBV_QPS_SQD) == 0);
    require_state(endpoint.qp(), IBV_QPS_SQD);
    require_drained(endpoint.qp());
  }
}

int modify(const Endpoint& endpoint, ibv_qp_state to, int mask) {
  ibv_qp_attr attr = endpoint.attributes(endpoint.number());
  attr.qp_state = to;
  return ibv_modify_qp(endpoint.qp(), &attr, mask | IBV_QP_STATE);
}

}  // namespace

TEST_CASE("a new queue pair is in RESET", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    EndpointOptions options;
    options.type = type;
    const Endpoint endpoint(device, options);
    CHECK(state_of(endpoint.qp()) == IBV_QPS_RESET);
    CHECK(endpoint.qp()->state == IBV_QPS_RESET);
    CHECK(endpoint.qp()->qp_type == type);
  }
}

TEST_CASE("every transition of the QP table works with its required attributes and no other transition does",
          "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    EndpointOptions options;
    options.type = type;
    const Endpoint endpoint(device, options);
    for (const ibv_qp_state from : kStates) {
      for (const ibv_qp_state to : kStates) {
        if (is_disputed(from, to)) continue;
        INFO(type_name(type) << " from state " << from << " to state " << to);
        drive_to(endpoint, from);
        const auto legal = transition(type, from, to);
        if (legal) {
          CHECK(modify(endpoint, to, legal->required) == 0);
          CHECK(state_of(endpoint.qp()) == to);
          CHECK(endpoint.qp()->state == to);
        } else {
          // Whatever attributes come along: the ones of the step that leads there are the likeliest to be let
          // through.
          const int mask = to == IBV_QPS_INIT  ? Endpoint::init_mask(type)
                           : to == IBV_QPS_RTR ? Endpoint::rtr_mask(type)
                           : to == IBV_QPS_RTS ? Endpoint::rts_mask(type)
                                               : 0;
          CHECK(modify(endpoint, to, 0) == EINVAL);
          CHECK(modify(endpoint, to, mask) == EINVAL);
          CHECK(state_of(endpoint.qp()) == from);
          CHECK(endpoint.qp()->state == from);
        }
      }
    }
  }
}

TEST_CASE("a transition without one of its required attributes is refused and changes nothing", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    EndpointOptions options;
    options.type = type;
    const Endpoint endpoint(device, options);
    for (const ibv_qp_state from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
      const auto to = static_cast<ibv_qp_state>(from + 1);
      drive_to(endpoint, from);
      const auto legal = transition(type, from, to);
      for (const int attribute : kAttributes) {
        if ((legal->required & attribute) == 0) continue;
        INFO(type_name(type) << " from state " << from << " without attribute 0x" << std::hex << attribute);
        CHECK(modify(endpoint, to, legal->required & ~attribute) == EINVAL);
        CHECK(state_of(endpoint.qp()) == from);
      }
    }
  }
}

TEST_CASE("a transition takes each of its optional attributes and no attribute that is neither", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    EndpointOptions options;
    options.type = type;
    const Endpoint endpoint(device, options);
    for (const ibv_qp_state from : kStates) {
      for (const ibv_qp_state to : kStates) {
        const auto legal = transition(type, from, to);
        if (!legal || is_disputed(from, to)) continue;
        for (const int attribute : kAttributes) {
          if ((legal->required & attribute) != 0) continue;
          INFO(type_name(type) << " from state " << from << " to " << to << " with attribute 0x" << std::hex
                               << attribute);
          drive_to(endpoint, from);
          if ((legal->optional & attribute) != 0) {
            CHECK(modify(endpoint, to, legal->required | attribute) == 0);
            CHECK(state_of(endpoint.qp()) == to);
          } else {
            CHECK(modify(endpoint, to, legal->required | attribute) == EINVAL);
            CHECK(state_of(endpoint.qp()) == from);
          }
        }
      }
    }
  }
}

TEST_CASE("attributes may change without a change of state where the table lets a state follow itself",
          "[qp]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  attr.min_rnr_timer = 9;
  REQUIRE(ibv_modify_qp(pair.a.qp(), &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER) == 0);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(pair.a.qp(), &now, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_STATE, &init) ==
          0);
  CHECK(now.qp_access_flags == IBV_ACCESS_REMOTE_READ);
  CHECK(now.min_rnr_timer == 9);
  CHECK(now.qp_state == IBV_QPS_RTS);
  attr.path_mtu = IBV_MTU_256;
  CHECK(ibv_modify_qp(pair.a.qp(), &attr, IBV_QP_PATH_MTU) == EINVAL);
}

TEST_CASE("cur_qp_state must be the state the queue pair is in", "[qp]") {
  const Device device;
  const Endpoint endpoint(device);
  drive_to(endpoint, IBV_QPS_RTR);
  ibv_qp_attr attr = endpoint.attributes(endpoint.number());
  attr.qp_state = IBV_QPS_RTS;
  const int mask = Endpoint::rts_mask(IBV_QPT_RC) | IBV_QP_CUR_STATE;
  attr.cur_qp_state = IBV_QPS_INIT;
  CHECK(ibv_modify_qp(endpoint.qp(), &attr, mask) == EINVAL);
  CHECK(state_of(endpoint.qp()) == IBV_QPS_RTR);
  attr.cur_qp_state = IBV_QPS_RTR;
  CHECK(ibv_modify_qp(endpoint.qp(), &attr, mask) == 0);
  CHECK(state_of(endpoint.qp()) == IBV_QPS_RTS);
}

TEST_CASE("an attribute with an impossible value is refused and none of the others is taken", "[qp]") {
  const Device device;
  const Endpoint endpoint(device);
  struct Case {
    const char* what;
    ibv_qp_state from;
    int mask;
    void (*spoil)(ibv_qp_attr&, const Device&);
  };
  const std::array cases{
      Case{"pkey_index past the table", IBV_QPS_RESET, Endpoint::init_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device& d) { attr.pkey_index = d.port.pkey_tbl_len; }},
      Case{"port 0", IBV_QPS_RESET, Endpoint::init_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device&) { attr.port_num = 0; }},
      Case{"a port the device lacks", IBV_QPS_RESET, Endpoint::init_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device& d) {
             attr.port_num = static_cast<std::uint8_t>(d.limits.phys_port_cnt + 1);
           }},
      Case{"path MTU of no meaning", IBV_QPS_INIT, Endpoint::rtr_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device&) { attr.path_mtu = static_cast<ibv_mtu>(7); }},
      Case{"source GID index past the table", IBV_QPS_INIT, Endpoint::rtr_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device& d) {
             attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(d.port.gid_tbl_len);
           }},
      Case{"address through another port", IBV_QPS_INIT, Endpoint::rtr_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device&) { attr.ah_attr.port_num = 77; }},
      Case{"more responder resources than the device has", IBV_QPS_INIT, Endpoint::rtr_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device& d) {
             attr.max_dest_rd_atomic = static_cast<std::uint8_t>(d.limits.max_qp_rd_atom + 1);
           }},
      Case{"more initiator depth than the device has", IBV_QPS_RTR, Endpoint::rts_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device& d) {
             attr.max_rd_atomic = static_cast<std::uint8_t>(d.limits.max_qp_init_rd_atom + 1);
           }},
      Case{"a time-out of more than 5 bits", IBV_QPS_RTR, Endpoint::rts_mask(IBV_QPT_RC),
           [](ibv_qp_attr& attr, const Device&) { attr.timeout = 32; }},
  };
  REQUIRE(device.limits.max_qp_rd_atom < 255);
  REQUIRE(device.limits.max_qp_init_rd_atom < 255);
  for (const Case& bad : cases) {
    INFO(bad.what);
    drive_to(endpoint, bad.from);
    ibv_qp_attr attr = endpoint.attributes(endpoint.number());
    attr.qp_state = static_cast<ibv_qp_state>(bad.from + 1);
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    attr.dest_qp_num = 0x123;
    attr.sq_psn = 0x456;
    bad.spoil(attr, device);
    CHECK(ibv_modify_qp(endpoint.qp(), &attr, bad.mask) != 0);
    ibv_qp_attr now{};
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(endpoint.qp(), &now,
                         IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_DEST_QPN | IBV_QP_SQ_PSN, &init) == 0);
    CHECK(now.qp_state == bad.from);
    CHECK(now.dest_qp_num != 0x123);
    CHECK(now.sq_psn != 0x456);
    if (bad.from == IBV_QPS_RESET) CHECK(now.qp_access_flags != IBV_ACCESS_REMOTE_WRITE);
  }
}

TEST_CASE("a mask bit and a state of no meaning are refused", "[qp]") {
  const Device device;
  const Endpoint endpoint(device);
  drive_to(endpoint, IBV_QPS_INIT);
  CHECK(modify(endpoint, IBV_QPS_UNKNOWN, 0) == EINVAL);
  CHECK(modify(endpoint, IBV_QPS_RTR, Endpoint::rtr_mask(IBV_QPT_RC) | (1 << 29)) != 0);
  CHECK(state_of(endpoint.qp()) == IBV_QPS_INIT);
}

TEST_CASE("what was set is what ibv_query_qp tells, and it can be fed back after a reset", "[qp]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  const int everything = (1 << 21) - 1;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(pair.a.qp(), &attr, everything, &init) == 0);
  CHECK(attr.qp_state == IBV_QPS_RTS);
  CHECK(attr.cur_qp_state == IBV_QPS_RTS);
  CHECK(attr.path_mtu == IBV_MTU_1024);
  CHECK(attr.dest_qp_num == pair.b.number());
  CHECK(attr.qp_access_flags == kAllRemote);
  CHECK(attr.port_num == Device::kPort);
  CHECK(attr.ah_attr.is_global == 1);
  const ibv_ah_attr path = device.loopback();
  CHECK(std::memcmp(&attr.ah_attr.grh.dgid, &path.grh.dgid, sizeof(ibv_gid)) == 0);
  CHECK(attr.timeout == 14);
  CHECK(attr.retry_cnt == 7);
  CHECK(attr.rnr_retry == 7);
  CHECK(attr.min_rnr_timer == 1);
  CHECK(attr.max_rd_atomic == 4);
  CHECK(attr.max_dest_rd_atomic == 4);
  CHECK(attr.cap.max_send_wr >= 64);
  CHECK(attr.cap.max_recv_wr >= 64);
  CHECK(attr.cap.max_send_sge >= 4);
  CHECK(attr.cap.max_recv_sge >= 4);
  CHECK(attr.cap.max_inline_data >= 64);
  CHECK(init.send_cq == pair.a.send_cq());
  CHECK(init.recv_cq == pair.a.recv_cq());
  CHECK(init.srq == nullptr);
  CHECK(init.qp_type == IBV_QPT_RC);
  CHECK(init.sq_sig_all == 0);
  CHECK(init.cap.max_send_wr == attr.cap.max_send_wr);

  pair.a.reset();
  pair.b.reset();
  pair.b.ready(pair.a.number());
  attr.qp_state = IBV_QPS_INIT;
  REQUIRE(ibv_modify_qp(pair.a.qp(), &attr, Endpoint::init_mask(IBV_QPT_RC)) == 0);
  attr.qp_state = IBV_QPS_RTR;
  REQUIRE(ibv_modify_qp(pair.a.qp(), &attr, Endpoint::rtr_mask(IBV_QPT_RC)) == 0);
  attr.qp_state = IBV_QPS_RTS;
  REQUIRE(ibv_modify_qp(pair.a.qp(), &attr, Endpoint::rts_mask(IBV_QPT_RC)) == 0);
  pair.require_alive();
}

TEST_CASE("sending is refused before RTS, receiving before INIT", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    const Endpoint& endpoint = pair.a;
    ibv_sge sge = endpoint.buffer.sge(0, 8);
    const ibv_send_wr send = pair.to_peer(endpoint, work(IBV_WR_SEND, {&sge, 1}));
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
      INFO(type_name(type) << " in state " << state);
      drive_to(endpoint, state);
      CHECK(endpoint.try_post(send) == EINVAL);
      CHECK(endpoint.try_post_recv({&sge, 1}) == (state == IBV_QPS_RESET ? EINVAL : 0));
    }
    require_empty(endpoint.send_cq());
  }
}

TEST_CASE("a queue pair in RTR receives", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    pair.b.reset();
    pair.b.to_init();
    pair.b.post_recv(0, 512, 1);
    pair.b.to_rtr(pair.a.number());
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 2)));
    CHECK(wait_success(pair.a.send_cq()).wr_id == 2);
    CHECK(wait_success(pair.b.recv_cq()).wr_id == 1);
    CHECK(state_of(pair.b.qp()) == IBV_QPS_RTR);
  }
}

TEST_CASE("work requests posted in ERR complete with a flush error, in order", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    REQUIRE(move_to(pair.a.qp(), IBV_QPS_ERR) == 0);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id)));
      pair.a.post_recv(0, 64, 10 + id);
    }
    for (std::uint64_t id = 1; id <= 3; ++id) {
      const ibv_wc sent = wait_completion(pair.a.send_cq());
      CHECK(sent.wr_id == id);
      CHECK(sent.status == IBV_WC_WR_FLUSH_ERR);
      CHECK(sent.qp_num == pair.a.number());
      const ibv_wc received = wait_completion(pair.a.recv_cq());
      CHECK(received.wr_id == 10 + id);
      CHECK(received.status == IBV_WC_WR_FLUSH_ERR);
    }
  }
}

TEST_CASE("moving to ERR flushes the receives that are posted, in order", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    for (std::uint64_t id = 1; id <= 5; ++id) pair.a.post_recv(0, 64, id);
    REQUIRE(move_to(pair.a.qp(), IBV_QPS_ERR) == 0);
    for (std::uint64_t id = 1; id <= 5; ++id) {
      const ibv_wc wc = wait_completion(pair.a.recv_cq());
      CHECK(wc.wr_id == id);
      CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
    }
    require_empty(pair.a.recv_cq());
  }
}

TEST_CASE("a reset empties both queues and the queue pair can be connected again", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    options.max_recv_wr = 16;
    const Pair pair(device, options);
    for (std::uint64_t id = 1; id <= 16; ++id) pair.b.post_recv(0, 64, id);
    pair.a.reset();
    pair.b.reset();
    pair.connect();
    for (std::uint64_t id = 101; id <= 115; ++id) pair.b.post_recv(0, 64, id);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 101; id <= 115; ++id) {
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id)));
      CHECK(wait_success(pair.a.send_cq()).wr_id == id);
      CHECK(wait_success(pair.b.recv_cq()).wr_id == id);
    }
    require_empty(pair.b.recv_cq());
  }
}

TEST_CASE("work posted in SQD waits until the queue pair is back in RTS", "[qp]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    REQUIRE(move_to(pair.a.qp(), IBV_QPS_SQD) == 0);
    require_state(pair.a.qp(), IBV_QPS_SQD);
    pair.b.post_recv(0, 64, 1);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 1)));
    require_empty(pair.a.send_cq());
    require_empty(pair.b.recv_cq());
    // Receiving goes on meanwhile.
    pair.a.post_recv(64, 64, 2);
    ibv_sge back = pair.b.buffer.sge(64, 8);
    pair.b.post(pair.to_peer(pair.b, work(IBV_WR_SEND, {&back, 1}, 2)));
    CHECK(wait_success(pair.b.send_cq()).wr_id == 2);
    CHECK(wait_success(pair.a.recv_cq()).wr_id == 2);
    REQUIRE(move_to(pair.a.qp(), IBV_QPS_RTS) == 0);
    CHECK(wait_success(pair.a.send_cq()).wr_id == 1);
    CHECK(wait_success(pair.b.recv_cq()).wr_id == 1);
  }
}

TEST_CASE("draining the send queue is reported when it was asked for", "[qp]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  REQUIRE(ibv_modify_qp(pair.a.qp(), &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
  const ibv_async_event event = wait_async_event(device.context(), IBV_EVENT_SQ_DRAINED);
  CHECK(event.element.qp == pair.a.qp());
}

TEST_CASE(
    "a send error takes a UC or UD queue pair to SQE: its receive queue goes on and it can return to RTS",
    "[qp]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    const Pair pair(device, options);
    ibv_sge bad{pair.a.buffer.address(), 8, pair.a.buffer.lkey() ^ 0x5a5a5a00U};
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&bad, 1}, 1, 0)));
    const ibv_wc failed = wait_completion(pair.a.send_cq());
    CHECK(failed.wr_id == 1);
    CHECK(failed.status == IBV_WC_LOC_PROT_ERR);
    require_state(pair.a.qp(), IBV_QPS_SQE);

    ibv_sge good = pair.a.buffer.sge(0, 8);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&good, 1}, 2)));
    const ibv_wc flushed = wait_completion(pair.a.send_cq());
    CHECK(flushed.wr_id == 2);
    CHECK(flushed.status == IBV_WC_WR_FLUSH_ERR);

    pair.a.post_recv(0, 128, 3);
    ibv_sge back = pair.b.buffer.sge(0, 8);
    pair.b.post(pair.to_peer(pair.b, work(IBV_WR_SEND, {&back, 1}, 3)));
    CHECK(wait_success(pair.b.send_cq()).wr_id == 3);
    CHECK(wait_success(pair.a.recv_cq()).wr_id == 3);

    REQUIRE(move_to(pair.a.qp(), IBV_QPS_RTS) == 0);
    pair.require_alive();
  }
}

}  // namespace rkv::verbs_test
