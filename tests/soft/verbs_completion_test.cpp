// Completion queues: order, size, overrun, resizing, and the extended form.
#include <arpa/inet.h>

#include <array>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

// Puts `count` completions with ids first, first + 1, .. into a's send CQ and waits until they are there.
void complete_writes(const Pair& pair, std::uint64_t count, std::uint64_t first = 0) {
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  for (std::uint64_t id = first; id < first + count; ++id)
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), id));
}

}  // namespace

TEST_CASE("a CQ has at least the entries asked for and refuses impossible sizes and vectors",
          "[completion]") {
  const Device device;
  ibv_context* context = device.context();
  for (const int depth : {1, 100, device.limits.max_cqe}) {
    const CqPtr cq(ibv_create_cq(context, depth, nullptr, nullptr, 0));
    REQUIRE(cq);
    CHECK(cq->cqe >= depth);
    require_empty(cq.get());
  }
  const CqPtr last(ibv_create_cq(context, 1, nullptr, nullptr, context->num_comp_vectors - 1));
  CHECK(last);
  struct Bad {
    int depth, vector;
  };
  for (const Bad bad : {Bad{0, 0}, Bad{-1, 0}, Bad{device.limits.max_cqe + 1, 0}, Bad{1, -1},
                        Bad{1, context->num_comp_vectors}}) {
    INFO("depth " << bad.depth << ", vector " << bad.vector);
    errno = 0;
    const CqPtr cq(ibv_create_cq(context, bad.depth, nullptr, nullptr, bad.vector));
    CHECK(!cq);
    CHECK(errno == EINVAL);
  }
}

TEST_CASE("polling takes as many completions as asked for, oldest first, and leaves the rest",
          "[completion]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  complete_writes(pair, 10);
  std::array<ibv_wc, 16> wc{};
  std::uint64_t next = 0;
  CHECK(ibv_poll_cq(pair.a.send_cq(), 0, wc.data()) == 0);
  const bool all = eventually([&] {
    const int polled = ibv_poll_cq(pair.a.send_cq(), 4, wc.data());
    REQUIRE(polled >= 0);
    REQUIRE(polled <= 4);
    for (int i = 0; i < polled; ++i) REQUIRE(wc[static_cast<std::size_t>(i)].wr_id == next++);
    return next == 10;
  });
  CHECK(all);
  CHECK(ibv_poll_cq(pair.a.send_cq(), 16, wc.data()) == 0);
}

TEST_CASE("queue pairs may share a CQ, for both directions", "[completion]") {
  const Device device;
  const CqPtr shared = make_cq(device);
  EndpointOptions options;
  options.cq = shared.get();
  const Pair one(device, options);
  const Pair two(device, options);
  ibv_sge sge = one.a.buffer.sge(0, 8);
  one.b.post_recv(0, 64, 1);
  two.b.post_recv(0, 64, 2);
  one.a.post(work(IBV_WR_SEND, {&sge, 1}, 3));
  two.a.post(work(IBV_WR_SEND, {&sge, 1}, 4));
  std::array<std::uint32_t, 5> number{};
  for (int i = 0; i < 4; ++i) {
    const ibv_wc wc = wait_success(shared.get());
    REQUIRE(wc.wr_id < number.size());
    number[wc.wr_id] = wc.qp_num;
  }
  CHECK(number[1] == one.b.number());
  CHECK(number[2] == two.b.number());
  CHECK(number[3] == one.a.number());
  CHECK(number[4] == two.a.number());
}

TEST_CASE("a CQ that overruns raises an asynchronous event", "[completion]") {
  const Device device;
  const CqPtr small = make_cq(device, 4);
  const auto room = static_cast<std::uint32_t>(small->cqe);
  EndpointOptions options;
  options.max_send_wr = room + 8;
  options.cq = small.get();
  EndpointOptions peer;
  Pair pair(device, options, peer);
  complete_writes(pair, room + 4);
  const ibv_async_event event = wait_async_event(device.context(), IBV_EVENT_CQ_ERR);
  CHECK(event.element.cq == small.get());
}

TEST_CASE("a CQ filled to its last entry does not overrun", "[completion]") {
  const Device device;
  const CqPtr small = make_cq(device, 4);
  const auto room = static_cast<std::uint32_t>(small->cqe);
  EndpointOptions options;
  options.max_send_wr = room;
  options.cq = small.get();
  const Pair pair(device, options, EndpointOptions{});
  for (std::uint64_t round = 0; round < 3; ++round) {
    complete_writes(pair, room, round * 1000);
    for (std::uint64_t id = 0; id < room; ++id) CHECK(wait_success(small.get()).wr_id == round * 1000 + id);
  }
  pollfd descriptor{device.context()->async_fd, POLLIN, 0};
  CHECK(poll(&descriptor, 1, 0) == 0);
}

TEST_CASE("a CQ is resized with its completions in it", "[completion]") {
  const Device device;
  const CqPtr cq = make_cq(device, 8);
  const auto before = static_cast<std::uint64_t>(cq->cqe);
  EndpointOptions options;
  options.max_send_wr = 512;
  options.cq = cq.get();
  const Pair pair(device, options, EndpointOptions{});
  // Half a turn first, so that the entries lie across the end of a ring.
  complete_writes(pair, before / 2);
  for (std::uint64_t i = 0; i < before / 2; ++i) wait_success(cq.get());
  complete_writes(pair, before);
  const int larger = static_cast<int>(before) + 100;
  REQUIRE(ibv_resize_cq(cq.get(), larger) == 0);
  CHECK(cq->cqe >= larger);
  complete_writes(pair, 100, before);
  for (std::uint64_t id = 0; id < before + 100; ++id) CHECK(wait_success(cq.get()).wr_id == id);
  require_empty(cq.get());
  REQUIRE(ibv_resize_cq(cq.get(), 8) == 0);
  CHECK(cq->cqe >= 8);
  complete_writes(pair, 8);
  for (std::uint64_t id = 0; id < 8; ++id) CHECK(wait_success(cq.get()).wr_id == id);
}

TEST_CASE("a CQ cannot be resized below what it holds, or to an impossible size", "[completion]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  complete_writes(pair, 10);
  let_everything_arrive(device);
  const ibv_cq* cq = pair.a.send_cq();
  const int before = cq->cqe;
  CHECK(ibv_resize_cq(pair.a.send_cq(), 2) == EINVAL);
  CHECK(ibv_resize_cq(pair.a.send_cq(), 0) == EINVAL);
  CHECK(ibv_resize_cq(pair.a.send_cq(), device.limits.max_cqe + 1) == EINVAL);
  CHECK(cq->cqe == before);
  for (std::uint64_t id = 0; id < 10; ++id) CHECK(wait_success(pair.a.send_cq()).wr_id == id);
}

TEST_CASE("nothing is destroyed while something depends on it", "[completion]") {
  const Device device;
  const ChannelPtr channel(ibv_create_comp_channel(device.context()));
  REQUIRE(channel);
  const PdPtr pd(ibv_alloc_pd(device.context()));
  REQUIRE(pd);
  const CqPtr cq = make_cq(device, 16, channel.get());
  CHECK(ibv_destroy_comp_channel(channel.get()) == EBUSY);
  {
    ibv_srq_init_attr srq_init{nullptr, {8, 1, 0}};
    const SrqPtr srq(ibv_create_srq(pd.get(), &srq_init));
    REQUIRE(srq);
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.send_cq = cq.get();
    init.recv_cq = cq.get();
    init.srq = srq.get();
    init.cap = {4, 0, 1, 0, 0};
    const QpPtr qp(ibv_create_qp(pd.get(), &init));
    REQUIRE(qp);
    CHECK(ibv_destroy_cq(cq.get()) == EBUSY);
    CHECK(ibv_destroy_srq(srq.get()) == EBUSY);
    CHECK(ibv_dealloc_pd(pd.get()) == EBUSY);
  }
  const Buffer buffer(pd.get(), 64);
  CHECK(ibv_dealloc_pd(pd.get()) == EBUSY);
}

TEST_CASE("an extended CQ tells each completion field by field", "[completion]") {
  const Device device;
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 64;
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* extended = ibv_create_cq_ex(device.context(), &attr);
  REQUIRE(extended != nullptr);
  const CqPtr cq(ibv_cq_ex_to_cq(extended));
  {
    EndpointOptions options;
    options.cq = cq.get();
    options.type = IBV_QPT_UD;
    const Pair pair(device, options);
    ibv_poll_cq_attr poll_attr{};
    CHECK(ibv_start_poll(extended, &poll_attr) == ENOENT);
    for (std::uint64_t id = 1; id <= 3; ++id) pair.b.post_recv(0, 256, id);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}, 9, 0));
    for (std::uint32_t i = 1; i <= 3; ++i) {
      wr.imm_data = htonl(i);
      pair.a.post(wr);
    }
    std::uint64_t next = 1;
    const bool all = eventually([&] {
      int found = ibv_start_poll(extended, &poll_attr);
      if (found == ENOENT) return false;
      while (found == 0) {
        CHECK(extended->wr_id == next);
        CHECK(extended->status == IBV_WC_SUCCESS);
        CHECK(ibv_wc_read_opcode(extended) == IBV_WC_RECV);
        CHECK(ibv_wc_read_byte_len(extended) == kGrhBytes + 8);
        CHECK(ntohl(ibv_wc_read_imm_data(extended)) == next);
        CHECK(ibv_wc_read_qp_num(extended) == pair.b.number());
        CHECK(ibv_wc_read_src_qp(extended) == pair.a.number());
        CHECK((ibv_wc_read_wc_flags(extended) & IBV_WC_WITH_IMM) != 0);
        ++next;
        found = ibv_next_poll(extended);
      }
      CHECK(found == ENOENT);
      ibv_end_poll(extended);
      return next == 4;
    });
    CHECK(all);
    // The plain way of polling works on it as well.
    wr.send_flags = IBV_SEND_SIGNALED;
    pair.a.post(wr);
    CHECK(wait_success(cq.get()).wr_id == 9);
  }
}

TEST_CASE("the extended send interface posts what was built, and aborts without a trace", "[completion]") {
  const Device device;
  const CqPtr cq = make_cq(device);
  const Endpoint peer(device);
  const Buffer buffer(device.pd(), 4096);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = cq.get();
  init.recv_cq = cq.get();
  init.cap = {16, 16, 4, 4, 64};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = device.pd();
  init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  const QpPtr qp(ibv_create_qp_ex(device.context(), &init));
  REQUIRE(qp);
  ibv_qp_ex* extended = ibv_qp_to_qp_ex(qp.get());
  REQUIRE(extended != nullptr);
  peer.ready(qp->qp_num);
  ibv_qp_attr attr = peer.attributes(peer.number());
  for (const auto& [state, mask] : {std::pair{IBV_QPS_INIT, Endpoint::init_mask(IBV_QPT_RC)},
                                    std::pair{IBV_QPS_RTR, Endpoint::rtr_mask(IBV_QPT_RC)},
                                    std::pair{IBV_QPS_RTS, Endpoint::rts_mask(IBV_QPT_RC)}}) {
    attr.qp_state = state;
    REQUIRE(ibv_modify_qp(qp.get(), &attr, mask) == 0);
  }
  peer.post_recv(0, 64, 1);
  peer.post_recv(64, 64, 2);
  buffer.fill(0x44);

  ibv_wr_start(extended);
  extended->wr_id = 66;
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(extended);
  ibv_wr_set_sge(extended, buffer.lkey(), buffer.address(), 8);
  ibv_wr_abort(extended);
  require_empty(cq.get());
  require_empty(peer.recv_cq());

  std::array<std::byte, 16> unregistered{};
  unregistered.fill(std::byte{0x55});
  ibv_wr_start(extended);
  extended->wr_flags = 0;
  extended->wr_id = 1;
  ibv_wr_send(extended);
  ibv_wr_set_inline_data(extended, unregistered.data(), unregistered.size());
  unregistered.fill(std::byte{0});  // the setter has taken the data already
  extended->wr_id = 2;
  ibv_wr_send_imm(extended, htonl(77));
  std::array pieces{buffer.sge(0, 4), buffer.sge(100, 4)};
  ibv_wr_set_sge_list(extended, pieces.size(), pieces.data());
  extended->wr_id = 3;
  ibv_wr_rdma_write(extended, peer.buffer.rkey(), peer.buffer.address(1000));
  ibv_wr_set_sge(extended, buffer.lkey(), buffer.address(), 32);
  extended->wr_id = 4;
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_read(extended, peer.buffer.rkey(), peer.buffer.address(1000));
  ibv_wr_set_sge(extended, buffer.lkey(), buffer.address(2000), 32);
  REQUIRE(ibv_wr_complete(extended) == 0);

  ibv_wc wc = wait_success(cq.get());
  CHECK(wc.wr_id == 4);
  CHECK(wc.opcode == IBV_WC_RDMA_READ);
  CHECK(wait_success(peer.recv_cq()).byte_len == 16);
  CHECK(peer.buffer.data()[15] == std::byte{0x55});
  wc = wait_success(peer.recv_cq());
  CHECK(wc.byte_len == 8);
  CHECK(ntohl(wc.imm_data) == 77);
  CHECK(peer.buffer.data()[1031] == std::byte{0x44});
  CHECK(buffer.data()[2031] == std::byte{0x44});

  REQUIRE(move_to(qp.get(), IBV_QPS_RESET) == 0);
  ibv_wr_start(extended);
  ibv_wr_send(extended);
  ibv_wr_set_sge(extended, buffer.lkey(), buffer.address(), 8);
  CHECK(ibv_wr_complete(extended) == EINVAL);
}

TEST_CASE("a plain queue pair has no extended send interface", "[completion]") {
  const Device device;
  const Endpoint endpoint(device);
  CHECK(ibv_qp_to_qp_ex(endpoint.qp()) == nullptr);
}

}  // namespace rkv::verbs_test
