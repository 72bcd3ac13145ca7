// What goes wrong on the way and how both ends hear of it: receiver-not-ready, too long messages, a peer that
// is gone, flushing, and the silence of UC.
#include <arpa/inet.h>
#include <sys/mman.h>

#include <array>
#include <thread>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::uint8_t kUntouched = 0xEE;

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  return options;
}

EndpointOptions impatient() {
  EndpointOptions options;
  options.timeout = 1;  // 8 us
  options.retry_count = 1;
  options.rnr_retry = 1;
  return options;
}

// Some tries, so that a completion that should not come has had its chance; a device with no thread of its
// own needs to be called to notice anything.
void require_stays_empty(ibv_cq* cq) {
  for (int i = 0; i < 100; ++i) require_empty(cq);
}

}  // namespace

TEST_CASE("an RC sender waits for a receive and goes on when one appears", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  pair.a.buffer.fill(0x21);
  ibv_sge sge = pair.a.buffer.sge(0, 100);
  for (std::uint64_t id = 1; id <= 3; ++id) pair.a.post(work(IBV_WR_SEND, {&sge, 1}, id));
  require_stays_empty(pair.a.send_cq());
  for (std::uint64_t id = 1; id <= 3; ++id) {
    pair.b.post_recv(id * 128, 128, 10 + id);
    CHECK(wait_success(pair.b.recv_cq()).wr_id == 10 + id);
    CHECK(wait_success(pair.a.send_cq()).wr_id == id);
    CHECK(pair.b.buffer.data()[id * 128 + 99] == std::byte{0x21});
    require_stays_empty(pair.b.recv_cq());
  }
  CHECK(state_of(pair.a.qp()) == IBV_QPS_RTS);
}

TEST_CASE("nothing overtakes an RC send that waits for a receive", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  pair.a.buffer.fill(0x21);
  pair.b.buffer.fill(kUntouched);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1, 0));
  pair.a.post(
      remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(4096), pair.b.buffer.rkey(), 2));
  require_stays_empty(pair.a.send_cq());
  CHECK(pair.b.buffer.data()[4096] == std::byte{kUntouched});
  pair.b.post_recv(0, 64, 3);
  CHECK(wait_success(pair.b.recv_cq()).wr_id == 3);
  CHECK(wait_success(pair.a.send_cq()).wr_id == 2);
  CHECK(pair.b.buffer.data()[4096] == std::byte{0x21});
}

TEST_CASE("an RC WRITE with immediate waits for a receive too", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  pair.a.buffer.fill(0x21);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(
      remote_work(IBV_WR_RDMA_WRITE_WITH_IMM, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), 1));
  require_stays_empty(pair.a.send_cq());
  REQUIRE(pair.b.try_post_recv({}, 2) == 0);
  CHECK(wait_success(pair.b.recv_cq()).opcode == IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK(wait_success(pair.a.send_cq()).wr_id == 1);
  CHECK(pair.b.buffer.data()[7] == std::byte{0x21});
}

TEST_CASE("a waiting RC sender is resumed by a receive that another thread posts", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> error{0};
    std::thread receiver([&] {
      ibv_sge into = pair.b.buffer.sge(0, 64);
      ibv_recv_wr wr{1, nullptr, &into, 1};
      ibv_recv_wr* bad = nullptr;
      error = ibv_post_recv(pair.b.qp(), &wr, &bad);
    });
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
    wait_success(pair.a.send_cq());
    receiver.join();
    REQUIRE(error == 0);
    wait_success(pair.b.recv_cq());
  }
}

TEST_CASE("RNR retries that run out fail the sender only", "[error]") {
  const Device device;
  for (const std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}}) {
    INFO(int{retries} << " retries");
    EndpointOptions options;  // patient with answers that come late
    options.rnr_retry = retries;
    const Pair pair(device, options);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
    const ibv_wc wc = wait_completion(pair.a.send_cq());
    CHECK(wc.wr_id == 1);
    CHECK(wc.status == IBV_WC_RNR_RETRY_EXC_ERR);
    require_state(pair.a.qp(), IBV_QPS_ERR);
    CHECK(state_of(pair.b.qp()) == IBV_QPS_RTS);
    require_stays_empty(pair.b.recv_cq());
  }
}

TEST_CASE("an RC message too long for its receive fails both ends and does not overrun", "[error]") {
  const Device device;
  for (const std::size_t room : {0UL, 1UL, 99UL}) {
    const Pair pair(device, EndpointOptions{});
    pair.a.buffer.fill(0x21);
    pair.b.buffer.fill(kUntouched);
    pair.b.post_recv(0, room, 7);
    pair.b.post_recv(1000, 100, 8);
    ibv_sge sge = pair.a.buffer.sge(0, 100);
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_INV_REQ_ERR);
    ibv_wc wc = wait_completion(pair.b.recv_cq());
    CHECK(wc.wr_id == 7);
    CHECK(wc.status == IBV_WC_LOC_LEN_ERR);
    wc = wait_completion(pair.b.recv_cq());
    CHECK(wc.wr_id == 8);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
    require_state(pair.a.qp(), IBV_QPS_ERR);
    require_state(pair.b.qp(), IBV_QPS_ERR);
    for (std::size_t i = room; i < pair.b.buffer.size(); ++i)
      REQUIRE(pair.b.buffer.data()[i] == std::byte{kUntouched});
  }
}

TEST_CASE("a UC message too long for its receive is never reported as received and does not overrun",
          "[error]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UC));
  pair.a.buffer.fill(0x21);
  pair.b.buffer.fill(kUntouched);
  pair.b.post_recv(0, 99, 7);
  ibv_sge sge = pair.a.buffer.sge(0, 100);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
  wait_success(pair.a.send_cq());
  ibv_wc wc{};
  if (ibv_poll_cq(pair.b.recv_cq(), 1, &wc) == 1) CHECK(wc.status == IBV_WC_LOC_LEN_ERR);
  for (std::size_t i = 99; i < pair.b.buffer.size(); ++i)
    REQUIRE(pair.b.buffer.data()[i] == std::byte{kUntouched});
}

TEST_CASE("a message longer than the port's limit is refused or fails at the sender", "[error]") {
  const Device device;
  constexpr std::size_t kRegionBytes = std::size_t{1} << 28;
  void* memory = mmap(nullptr, kRegionBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  {
    EndpointOptions options = impatient();
    options.max_sge = 16;
    options.rnr_retry = 0;
    const Pair pair(device, options);
    const MrPtr region(ibv_reg_mr(device.pd(), memory, kRegionBytes, 0));
    REQUIRE(region);
    const ibv_sge whole{reinterpret_cast<std::uintptr_t>(memory), static_cast<std::uint32_t>(kRegionBytes),
                        region->lkey};
    std::vector<ibv_sge> sges(device.port.max_msg_sz / kRegionBytes + 1, whole);
    REQUIRE(sges.size() <= pair.a.cap.max_send_sge);
    const int error = pair.a.try_post(work(IBV_WR_SEND, sges, 1));
    if (error == 0) {
      CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_LOC_LEN_ERR);
    } else {
      CHECK((error == EINVAL || error == EMSGSIZE));
    }
  }
  REQUIRE(munmap(memory, kRegionBytes) == 0);
}

TEST_CASE("after a failed work request the rest of the list is flushed, in order and signalled or not",
          "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  for (std::uint64_t id = 20; id < 24; ++id) pair.a.post_recv(0, 64, id);
  for (std::uint64_t id = 0; id < 8; ++id) pair.b.post_recv(0, 64, id);
  ibv_sge good = pair.a.buffer.sge(0, 8);
  ibv_sge bad{pair.a.buffer.address(), 8, pair.a.buffer.lkey() ^ 0x6b6b6b00U};
  std::array list{work(IBV_WR_SEND, {&good, 1}, 0, 0), work(IBV_WR_SEND, {&good, 1}, 1),
                  work(IBV_WR_SEND, {&bad, 1}, 2, 0), work(IBV_WR_SEND, {&good, 1}, 3, 0),
                  work(IBV_WR_SEND, {&good, 1}, 4)};
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  ibv_send_wr* refused = nullptr;
  REQUIRE(ibv_post_send(pair.a.qp(), list.data(), &refused) == 0);
  CHECK(wait_success(pair.a.send_cq()).wr_id == 1);
  ibv_wc wc = wait_completion(pair.a.send_cq());
  CHECK(wc.wr_id == 2);
  CHECK(wc.status == IBV_WC_LOC_PROT_ERR);
  for (const std::uint64_t id : {3UL, 4UL}) {
    wc = wait_completion(pair.a.send_cq());
    CHECK(wc.wr_id == id);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
  }
  for (std::uint64_t id = 20; id < 24; ++id) {
    wc = wait_completion(pair.a.recv_cq());
    CHECK(wc.wr_id == id);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
  }
  CHECK(wait_success(pair.b.recv_cq()).wr_id == 0);
  CHECK(wait_success(pair.b.recv_cq()).wr_id == 1);
  require_stays_empty(pair.b.recv_cq());
  require_stays_empty(pair.a.send_cq());
}

TEST_CASE("moving to ERR flushes sends that wait for a receive", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  for (std::uint64_t id = 1; id <= 4; ++id) pair.a.post(work(IBV_WR_SEND, {&sge, 1}, id, 0));
  REQUIRE(move_to(pair.a.qp(), IBV_QPS_ERR) == 0);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    const ibv_wc wc = wait_completion(pair.a.send_cq());
    CHECK(wc.wr_id == id);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
  }
  let_everything_arrive(device);
  pair.b.post_recv(0, 64);
  require_stays_empty(pair.b.recv_cq());
}

TEST_CASE("an RC request to a peer that is not listening exhausts its retries", "[error]") {
  const Device device;
  for (int which = 0; which < 4; ++which) {
    INFO("case " << which);
    Pair pair(device, impatient());
    if (which == 0) pair.b.destroy();
    if (which == 1) pair.b.reset();
    if (which == 2) REQUIRE(move_to(pair.b.qp(), IBV_QPS_ERR) == 0);
    if (which == 3) {
      pair.b.reset();
      pair.b.to_init();
    }
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), 1));
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 2));
    ibv_wc wc = wait_completion(pair.a.send_cq());
    CHECK(wc.wr_id == 1);
    CHECK(wc.status == IBV_WC_RETRY_EXC_ERR);
    wc = wait_completion(pair.a.send_cq());
    CHECK(wc.wr_id == 2);
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_CASE("an RC sender whose peer goes away while it waits for a receive hears of it", "[error]") {
  const Device device;
  EndpointOptions options = impatient();
  options.rnr_retry = 7;
  Pair pair(device, options);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1));
  pair.b.destroy();
  CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_RETRY_EXC_ERR);
}

TEST_CASE("UC: what finds no receive or no peer is lost in silence", "[error]") {
  const Device device;
  Pair pair(device, of_type(IBV_QPT_UC));
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, {&sge, 1}, 1);
  wr.imm_data = htonl(1);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  let_everything_arrive(device);
  pair.b.post_recv(0, 64, 5);
  wr.imm_data = htonl(2);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(ntohl(wait_success(pair.b.recv_cq()).imm_data) == 2);
  pair.b.destroy();
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(state_of(pair.a.qp()) == IBV_QPS_RTS);
}

TEST_CASE("a responder that refuses a request is told by an asynchronous event", "[error]") {
  const Device device;
  {
    const Pair pair(device, EndpointOptions{});
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(),
                            pair.b.buffer.rkey() ^ 0x6b6b6b00U));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_ACCESS_ERR);
    CHECK(wait_async_event(device.context(), IBV_EVENT_QP_ACCESS_ERR).element.qp == pair.b.qp());
  }
  {
    const Pair pair(device, EndpointOptions{});
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, {&sge, 1}, pair.b.buffer.address(1),
                            pair.b.buffer.rkey(), 1, 0));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_INV_REQ_ERR);
    CHECK(wait_async_event(device.context(), IBV_EVENT_QP_REQ_ERR).element.qp == pair.b.qp());
  }
}

TEST_CASE("the error of one connection leaves others alone", "[error]") {
  const Device device;
  const Pair healthy(device, EndpointOptions{});
  const Pair failing(device, EndpointOptions{});
  ibv_sge sge = failing.a.buffer.sge(0, 8);
  failing.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, 0x10, failing.b.buffer.rkey()));
  CHECK(wait_completion(failing.a.send_cq()).status == IBV_WC_REM_ACCESS_ERR);
  healthy.require_alive();
}

TEST_CASE("a failed connection works again after a reset of both ends", "[error]") {
  const Device device;
  const Pair pair(device, EndpointOptions{});
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, 0x10, pair.b.buffer.rkey()));
  CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_ACCESS_ERR);
  pair.a.reset();
  pair.b.reset();
  pair.connect();
  pair.require_alive();
}

TEST_CASE("a queue pair can be destroyed with work outstanding in both queues", "[error]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    Pair pair(device, of_type(type));
    for (std::uint64_t id = 0; id < 10; ++id) pair.a.post_recv(0, 64, id);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 0; id < 10; ++id)
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id)));
    pair.a.destroy();
    let_everything_arrive(device);
    // The survivor's later requests find nobody, and receives of its own do not wake the dead.
    pair.b.post_recv(0, 256, 1);
    require_stays_empty(pair.b.recv_cq());
  }
}

}  // namespace rkv::verbs_test
