// The soft RNIC's data path from inside: what its parts promise each other, and that objects can be destroyed
// while messages are on their way to them.
#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "backends/verbs/soft/transport/copy.hpp"
#include "backends/verbs/soft/verbs/completion_queue.hpp"
#include "backends/verbs/soft/verbs/memory_region.hpp"

namespace {

using namespace rkv::soft;

Completion receive_completion(CompletionSource& source, std::uint64_t wr_id) {
  return {.wr_id = wr_id, .source = &source, .opcode = static_cast<std::uint8_t>(IBV_WC_RECV)};
}

std::vector<std::uint64_t> drain(CompletionQueue& cq) {
  std::vector<std::uint64_t> wr_ids;
  for (Completion completion; cq.pop(completion);) {
    wr_ids.push_back(completion.wr_id);
  }
  return wr_ids;
}

// A connected pair of queue pairs on one context, small enough for a test to own outright.
struct Endpoint {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;

  void open() {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    for (ibv_device** each = devices; *each != nullptr; ++each) {
      if (std::strcmp(ibv_get_device_name(*each), "soft0") == 0) {
        context = ibv_open_device(*each);
      }
    }
    ibv_free_device_list(devices);
    REQUIRE(context != nullptr);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 4'096, nullptr, nullptr, 0);
  }
  void create_qp(ibv_qp_type type, ibv_srq* srq = nullptr) {
    ibv_qp_init_attr creation{};
    creation.send_cq = cq;
    creation.recv_cq = cq;
    creation.srq = srq;
    creation.cap = {
        .max_send_wr = 256, .max_recv_wr = 256, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
    creation.qp_type = type;
    qp = ibv_create_qp(pd, &creation);
    REQUIRE(qp != nullptr);
  }
  void connect(std::uint32_t dest_qpn) const {
    ibv_qp_attr attributes{};
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = dest_qpn;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    REQUIRE(ibv_query_gid(context, 1, 0, &attributes.ah_attr.grh.dgid) == 0);
    attributes.min_rnr_timer = 31;  // half a second: a test that waits for it is stuck for long
    attributes.timeout = 8;
    attributes.retry_cnt = 1;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 1;
    attributes.max_dest_rd_atomic = 1;
    const bool reliable = qp->qp_type == IBV_QPT_RC;
    attributes.qp_state = IBV_QPS_INIT;
    REQUIRE(ibv_modify_qp(qp, &attributes,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    attributes.qp_state = IBV_QPS_RTR;
    REQUIRE(ibv_modify_qp(qp, &attributes,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0);
    attributes.qp_state = IBV_QPS_RTS;
    REQUIRE(ibv_modify_qp(
                qp, &attributes,
                IBV_QP_STATE | IBV_QP_SQ_PSN |
                    (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                              : 0)) == 0);
  }
  void close() {
    CHECK(ibv_destroy_cq(cq) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
  }
};

int post_inline(ibv_qp* qp, ibv_wr_opcode opcode, std::uint64_t value, std::uint64_t remote_addr = 0,
                std::uint32_t rkey = 0, unsigned flags = IBV_SEND_SIGNALED) {
  ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&value), .length = sizeof value, .lkey = 0};
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_INLINE | flags;
  request.wr.rdma = {.remote_addr = remote_addr, .rkey = rkey};
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

}  // namespace

TEST_CASE("one-sided copies move every byte and no other, whatever the alignment") {
  std::array<std::byte, 96> source{};
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>(i + 1);
  }
  for (const CopyFunction copy : {&copy_publish, &copy_observe, &copy_private}) {
    for (std::size_t to = 0; to < 9; ++to) {
      for (std::size_t from = 0; from < 9; ++from) {
        for (std::size_t bytes = 0; bytes < 40; ++bytes) {
          std::array<std::byte, 96> target{};
          copy(target.data() + to, source.data() + from, bytes);
          std::array<std::byte, 96> expected{};
          std::memcpy(expected.data() + to, source.data() + from, bytes);
          REQUIRE(target == expected);
        }
      }
    }
  }
}

TEST_CASE("a message is scattered over segments of other sizes than it was gathered from") {
  std::array<std::byte, 30> source;
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>(i);
  }
  std::array<std::byte, 64> target{};
  const std::array from{Segment{source.data(), 7}, Segment{source.data() + 7, 0},
                        Segment{source.data() + 7, 23}};
  const std::array to{Segment{target.data(), 5}, Segment{nullptr, 0}, Segment{target.data() + 10, 1},
                      Segment{target.data() + 20, 44}};
  copy_segments(copy_private, to.data(), 3, from.data(), from.size());
  CHECK(std::memcmp(target.data() + 3, source.data(), 2) == 0);
  CHECK(target[10] == source[2]);
  CHECK(std::memcmp(target.data() + 20, source.data() + 3, 27) == 0);
  CHECK(target[47] == std::byte{0});
}

TEST_CASE("whoever sees the last word of a published message sees all of it") {
  alignas(64) std::array<std::uint64_t, 8> shared{};
  constexpr std::uint64_t rounds = 2'000;
  std::atomic<std::uint64_t> seen{0};
  std::thread writer([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      std::array<std::uint64_t, 8> message;
      message.fill(round);
      copy_publish(reinterpret_cast<std::byte*>(shared.data()),
                   reinterpret_cast<const std::byte*>(message.data()), sizeof message);
      while (seen.load(std::memory_order_acquire) != round) {
        std::this_thread::yield();
      }
    }
  });
  bool whole = true;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    while (std::atomic_ref(shared.back()).load(std::memory_order_acquire) != round) {
      std::this_thread::yield();
    }
    for (const std::uint64_t word : shared) {
      whole = whole && word == round;
    }
    seen.store(round, std::memory_order_release);
  }
  writer.join();
  CHECK(whole);
}

TEST_CASE("whoever sees the last byte of what a READ brought sees all of it") {
  std::array<std::byte, 40> source;
  source.fill(std::byte{7});
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t bytes = 1; bytes < 30; ++bytes) {
      std::array<std::byte, 40> target{};
      std::thread reader([&] { copy_observe(target.data() + 1, source.data() + from, bytes); });
      const std::atomic_ref last(reinterpret_cast<std::uint8_t&>(target[bytes]));
      while (last.load(std::memory_order_acquire) == 0) {
        std::this_thread::yield();
      }
      const bool whole = std::memcmp(target.data() + 1, source.data() + from, bytes) == 0;
      reader.join();
      REQUIRE(whole);
    }
  }
}

TEST_CASE("a completion queue keeps its order through resizing and the removal of a queue pair") {
  CompletionQueue cq;
  REQUIRE(cq.allocate(4));
  CompletionSource kept;
  CompletionSource removed;
  // Twice round the ring first, so that positions and slots differ.
  for (std::uint64_t i = 0; i < 7; ++i) {
    REQUIRE(cq.push(receive_completion(kept, i), false) == PushResult::queued);
    REQUIRE(drain(cq) == std::vector<std::uint64_t>{i});
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    REQUIRE(cq.push(receive_completion(i % 2 == 0 ? kept : removed, i), false) == PushResult::queued);
  }
  CHECK(cq.resize(3) == EINVAL);
  REQUIRE(cq.resize(6) == 0);
  REQUIRE(cq.push(receive_completion(removed, 4), false) == PushResult::queued);
  REQUIRE(cq.push(receive_completion(kept, 5), false) == PushResult::queued);
  CHECK(cq.push(receive_completion(kept, 6), false) == PushResult::overrun_now);
  CHECK(cq.push(receive_completion(kept, 6), false) == PushResult::overrun_before);
  cq.remove(removed);
  CHECK_FALSE(cq.looks_empty());
  CHECK(drain(cq) == std::vector<std::uint64_t>{0, 2, 5});
  CHECK(cq.looks_empty());
  CHECK(kept.retired_receives.load() == 10);
}

TEST_CASE("a key opens its own region only, and nothing once it is hidden") {
  ProtectionDomain pd{.ibv = {}, .parent = nullptr, .thread_domain_users = nullptr};
  pd.parent = &pd;
  ProtectionDomain other{.ibv = {}, .parent = nullptr, .thread_domain_users = nullptr};
  std::array<std::byte, 64> memory{};
  MemoryRegion region{};
  region.ibv.pd = &pd.ibv;
  region.ibv.addr = memory.data();
  region.ibv.length = memory.size();
  region.access = IBV_ACCESS_LOCAL_WRITE;
  region.iova = ~0ULL - 63;  // ends at the very top of the address space
  KeyTable& table = KeyTable::instance();
  const std::uint32_t key = table.insert(region);
  REQUIRE(key != 0);
  CHECK(table.find(key, &pd, region.iova, 64, IBV_ACCESS_LOCAL_WRITE) == memory.data());
  CHECK(table.find(key, &pd, region.iova + 63, 1, 0) == memory.data() + 63);
  CHECK(table.find(key, &pd, region.iova + 63, 2, 0) == nullptr);
  CHECK(table.find(key, &pd, region.iova - 1, 1, 0) == nullptr);
  CHECK(table.find(key, &pd, region.iova + 1, ~0ULL, 0) == nullptr);
  CHECK(table.find(key, &pd, region.iova, 64, IBV_ACCESS_REMOTE_READ) == nullptr);
  CHECK(table.find(key, &other, region.iova, 64, 0) == nullptr);
  CHECK(table.find(key ^ 0x10000U, &pd, region.iova, 64, 0) == nullptr);
  table.hide(key);
  CHECK(table.find(key, &pd, region.iova, 64, 0) == nullptr);
  table.release(key);
}

// Several threads post the receives that several senders starve for. With a RNR timer of half a second the
// test ends in time only if posting a receive wakes a sender, every time.
TEST_CASE("starving senders go on whoever posts the receive") {
  constexpr int senders = 3;
  constexpr int messages = 200;
  Endpoint receiver;
  receiver.open();
  ibv_srq_init_attr creation{};
  creation.attr = {.max_wr = 256, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(receiver.pd, &creation);
  std::array<std::uint64_t, senders * messages> memory{};  // one word a receive
  ibv_mr* const mr = ibv_reg_mr(receiver.pd, memory.data(), sizeof memory, int{IBV_ACCESS_LOCAL_WRITE});
  REQUIRE(mr != nullptr);
  std::array<Endpoint, senders> from;
  std::vector<ibv_qp*> to;
  for (Endpoint& sender : from) {
    sender.open();
    sender.create_qp(IBV_QPT_RC);
    receiver.create_qp(IBV_QPT_RC, srq);
    receiver.connect(sender.qp->qp_num);
    sender.connect(receiver.qp->qp_num);
    to.push_back(receiver.qp);
  }
  std::vector<std::thread> threads;
  for (Endpoint& sender : from) {
    threads.emplace_back([&] {
      for (int i = 0; i < messages; ++i) {
        post_inline(sender.qp, IBV_WR_SEND, 1, 0, 0, i + 1 == messages ? unsigned{IBV_SEND_SIGNALED} : 0U);
      }
    });
  }
  for (int poster = 0; poster < 2; ++poster) {
    threads.emplace_back([&, poster] {
      ibv_recv_wr* bad = nullptr;
      for (std::size_t i = static_cast<std::size_t>(poster); i < memory.size();) {
        ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&memory[i]), .length = 8, .lkey = mr->lkey};
        ibv_recv_wr request{.wr_id = i, .next = nullptr, .sg_list = &sge, .num_sge = 1};
        i += ibv_post_srq_recv(srq, &request, &bad) == 0 ? 2 : 0;  // full: senders have to catch up
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  for (Endpoint& sender : from) {
    ibv_wc completion{};
    while (ibv_poll_cq(sender.cq, 1, &completion) == 0) {
      std::this_thread::yield();
    }
    CHECK(completion.status == IBV_WC_SUCCESS);
  }
  for (std::size_t i = 0; i < senders; ++i) {
    CHECK(ibv_destroy_qp(from[i].qp) == 0);
    from[i].close();
    CHECK(ibv_destroy_qp(to[i]) == 0);
  }
  CHECK(ibv_destroy_srq(srq) == 0);
  CHECK(ibv_dereg_mr(mr) == 0);
  receiver.close();
}

// The memory is freed and the queue pair is destroyed while a sender writes to both: a sanitizer would tell.
TEST_CASE("regions and queue pairs are destroyed under traffic") {
  Endpoint sender;
  Endpoint target;
  sender.open();
  target.open();
  sender.create_qp(IBV_QPT_UC);
  target.create_qp(IBV_QPT_UC);
  target.connect(sender.qp->qp_num);
  sender.connect(target.qp->qp_num);
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint32_t> rkey{0};
  std::atomic<bool> stop{false};
  std::atomic<int> polled{0};
  std::thread traffic([&] {
    ibv_wc completion{};
    while (!stop.load(std::memory_order_relaxed)) {
      post_inline(sender.qp, IBV_WR_RDMA_WRITE, 7, address.load(std::memory_order_relaxed),
                  rkey.load(std::memory_order_relaxed));
      post_inline(sender.qp, IBV_WR_SEND, 7);
      polled += ibv_poll_cq(sender.cq, 1, &completion);
      polled += ibv_poll_cq(sender.cq, 1, &completion);
    }
  });
  while (polled == 0) {
    std::this_thread::yield();
  }
  for (int round = 0; round < 200; ++round) {
    auto memory = std::make_unique<std::array<std::uint64_t, 2>>();
    ibv_mr* const mr =
        ibv_reg_mr(target.pd, memory.get(), sizeof *memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    REQUIRE(mr != nullptr);
    address = reinterpret_cast<std::uint64_t>(memory.get());
    rkey = mr->rkey;
    ibv_sge sge{.addr = address, .length = 16, .lkey = mr->lkey};
    ibv_recv_wr request{.wr_id = 0, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    CHECK(ibv_post_recv(target.qp, &request, &bad) == 0);
    std::this_thread::yield();
    if (round % 10 == 9) {
      CHECK(ibv_destroy_qp(target.qp) == 0);
      target.create_qp(IBV_QPT_UC);
      target.connect(sender.qp->qp_num);
    }
    CHECK(ibv_dereg_mr(mr) == 0);
    memory.reset();
    ibv_wc completion{};
    while (ibv_poll_cq(target.cq, 1, &completion) > 0) {
    }
  }
  stop = true;
  traffic.join();
  CHECK(ibv_destroy_qp(sender.qp) == 0);
  CHECK(ibv_destroy_qp(target.qp) == 0);
  sender.close();
  target.close();
}
