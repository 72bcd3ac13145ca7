// Shared receive queues.
#include <array>
#include <set>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

SrqPtr make_srq(const Device& device, std::uint32_t max_wr, std::uint32_t max_sge = 1,
                ibv_srq_attr* granted = nullptr) {
  ibv_srq_init_attr init{nullptr, {max_wr, max_sge, 0}};
  SrqPtr srq(ibv_create_srq(device.pd(), &init));
  REQUIRE(srq);
  CHECK(init.attr.max_wr >= max_wr);
  CHECK(init.attr.max_sge >= max_sge);
  if (granted != nullptr) *granted = init.attr;
  return srq;
}

void post(ibv_srq* srq, const Buffer& buffer, std::size_t offset, std::size_t length, std::uint64_t id) {
  ibv_sge sge = buffer.sge(offset, length);
  ibv_recv_wr wr{id, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  REQUIRE(ibv_post_srq_recv(srq, &wr, &bad) == 0);
}

EndpointOptions on(ibv_srq* srq, ibv_qp_type type = IBV_QPT_RC) {
  EndpointOptions options;
  options.type = type;
  options.srq = srq;
  return options;
}

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  return options;
}

}  // namespace

TEST_CASE("queue pairs on one SRQ take its receives in the order they were posted", "[srq]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const SrqPtr srq = make_srq(device, 16);
    const Buffer buffer(device.pd(), 16 * 256);
    const Pair one(device, of_type(type), on(srq.get(), type));
    const Pair two(device, of_type(type), on(srq.get(), type));
    for (std::uint64_t id = 0; id < 6; ++id) post(srq.get(), buffer, id * 256, 256, id);
    ibv_sge sge = one.a.buffer.sge(0, 8);
    for (std::uint64_t id = 0; id < 6; ++id) {
      const Pair& pair = id % 2 == 0 ? one : two;
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id)));
      wait_success(pair.a.send_cq());
      const ibv_wc wc = wait_success(pair.b.recv_cq());
      CHECK(wc.wr_id == id);
      CHECK(wc.qp_num == pair.b.number());
    }
  }
}

TEST_CASE("a queue pair on an SRQ has no receive queue of its own, and UC cannot have an SRQ", "[srq]") {
  const Device device;
  const SrqPtr srq = make_srq(device, 4);
  const Pair pair(device, of_type(IBV_QPT_RC), on(srq.get()));
  ibv_sge sge = pair.b.buffer.sge(0, 8);
  CHECK(pair.b.try_post_recv({&sge, 1}) != 0);
  const CqPtr cq = make_cq(device);
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UC;
  init.send_cq = cq.get();
  init.recv_cq = cq.get();
  init.srq = srq.get();
  init.cap = {4, 0, 1, 0, 0};
  const QpPtr qp(ibv_create_qp(device.pd(), &init));
  CHECK(!qp);
}

TEST_CASE("an RC sender waits for an empty SRQ", "[srq]") {
  const Device device;
  const SrqPtr srq = make_srq(device, 4);
  const Buffer buffer(device.pd(), 4096);
  const Pair one(device, of_type(IBV_QPT_RC), on(srq.get()));
  const Pair two(device, of_type(IBV_QPT_RC), on(srq.get()));
  ibv_sge sge = one.a.buffer.sge(0, 8);
  one.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
  two.a.post(work(IBV_WR_SEND, {&sge, 1}, 2));
  require_empty(one.a.send_cq());
  require_empty(two.a.send_cq());
  post(srq.get(), buffer, 0, 64, 1);
  post(srq.get(), buffer, 64, 64, 2);
  CHECK(wait_success(one.a.send_cq()).wr_id == 1);
  CHECK(wait_success(two.a.send_cq()).wr_id == 2);
  wait_success(one.b.recv_cq());
  wait_success(two.b.recv_cq());
}

TEST_CASE("a full SRQ refuses with ENOMEM and too many SGEs with EINVAL", "[srq]") {
  const Device device;
  ibv_srq_attr granted{};
  const SrqPtr srq = make_srq(device, 4, 2, &granted);
  const Buffer buffer(device.pd(), 4096);
  std::vector<ibv_sge> sges(granted.max_sge + 1, buffer.sge(0, 8));
  ibv_recv_wr wr{1, nullptr, sges.data(), static_cast<int>(granted.max_sge + 1)};
  ibv_recv_wr* bad = nullptr;
  CHECK(ibv_post_srq_recv(srq.get(), &wr, &bad) == EINVAL);
  CHECK(bad == &wr);
  for (std::uint32_t i = 0; i < granted.max_wr; ++i) post(srq.get(), buffer, 0, 8, i);
  wr.num_sge = 1;
  bad = nullptr;
  CHECK(ibv_post_srq_recv(srq.get(), &wr, &bad) == ENOMEM);
  CHECK(bad == &wr);
}

TEST_CASE("the limit of an SRQ raises one event when the receives fall below it", "[srq]") {
  const Device device;
  const SrqPtr srq = make_srq(device, 16);
  const Buffer buffer(device.pd(), 4096);
  const Pair pair(device, of_type(IBV_QPT_RC), on(srq.get()));
  for (std::uint64_t id = 0; id < 6; ++id) post(srq.get(), buffer, 0, 64, id);
  ibv_srq_attr attr{};
  attr.srq_limit = 4;
  REQUIRE(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT) == 0);
  ibv_srq_attr now{};
  REQUIRE(ibv_query_srq(srq.get(), &now) == 0);
  CHECK(now.srq_limit == 4);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pollfd events{device.context()->async_fd, POLLIN, 0};
  for (int sent = 1; sent <= 3; ++sent) {
    CHECK(poll(&events, 1, 0) == 0);  // 6, 5, 4 are left: none of them below 4
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
    wait_success(pair.a.send_cq());
    wait_success(pair.b.recv_cq());
  }
  const ibv_async_event event = wait_async_event(device.context(), IBV_EVENT_SRQ_LIMIT_REACHED);
  CHECK(event.element.srq == srq.get());
  REQUIRE(ibv_query_srq(srq.get(), &now) == 0);
  CHECK(now.srq_limit == 0);  // disarmed
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
  wait_success(pair.a.send_cq());
  wait_success(pair.b.recv_cq());
  CHECK(poll(&events, 1, 0) == 0);
}

TEST_CASE("an SRQ's limit must lie within its size", "[srq]") {
  const Device device;
  ibv_srq_attr granted{};
  const SrqPtr srq = make_srq(device, 4, 1, &granted);
  ibv_srq_attr attr{};
  attr.srq_limit = granted.max_wr + 1;
  CHECK(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT) == EINVAL);
  ibv_srq_attr now{};
  REQUIRE(ibv_query_srq(srq.get(), &now) == 0);
  CHECK(now.srq_limit == 0);
  CHECK(now.max_wr == granted.max_wr);
}

TEST_CASE("SRQ sizes beyond the device are refused", "[srq]") {
  const Device device;
  ibv_srq_init_attr init{nullptr, {static_cast<std::uint32_t>(device.limits.max_srq_wr) + 1, 1, 0}};
  CHECK(ibv_create_srq(device.pd(), &init) == nullptr);
  init = {nullptr, {1, static_cast<std::uint32_t>(device.limits.max_srq_sge) + 1, 0}};
  CHECK(ibv_create_srq(device.pd(), &init) == nullptr);
}

TEST_CASE("a queue pair on an SRQ that goes to ERR tells that it has taken its last receive", "[srq]") {
  const Device device;
  const SrqPtr srq = make_srq(device, 4);
  const Buffer buffer(device.pd(), 4096);
  const Pair pair(device, of_type(IBV_QPT_RC), on(srq.get()));
  post(srq.get(), buffer, 0, 64, 1);
  REQUIRE(move_to(pair.b.qp(), IBV_QPS_ERR) == 0);
  const ibv_async_event event = wait_async_event(device.context(), IBV_EVENT_QP_LAST_WQE_REACHED);
  CHECK(event.element.qp == pair.b.qp());
  require_empty(pair.b.recv_cq());  // the receive stays in the SRQ for others
  const Pair other(device, of_type(IBV_QPT_RC), on(srq.get()));
  ibv_sge sge = other.a.buffer.sge(0, 8);
  other.a.post(work(IBV_WR_SEND, {&sge, 1}));
  wait_success(other.a.send_cq());
  CHECK(wait_success(other.b.recv_cq()).wr_id == 1);
}

}  // namespace rkv::verbs_test
