// Objects that change or go away while other threads use them, and queues that run dry on both sides at once.
#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

bool post_send(ibv_qp* qp, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad) == 0;
}
bool post_receive(const Endpoint& endpoint) {
  ibv_sge sge = endpoint.buffer.sge(0, 64);
  ibv_recv_wr wr{0, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(endpoint.qp(), &wr, &bad) == 0;
}

// Polls one completion if there is one; counts it; false when it is an error.
bool take(ibv_cq* cq, std::atomic<int>& count) {
  ibv_wc wc{};
  const int polled = ibv_poll_cq(cq, 1, &wc);
  if (polled == 1) count.fetch_add(1);
  return polled == 0 || (polled == 1 && wc.status == IBV_WC_SUCCESS);
}

class Threads {
 public:
  ~Threads() { join(); }
  template <typename Body>
  void run(Body body) {
    threads_.emplace_back([this, body] {
      if (!body()) all_well_ = false;
    });
  }
  // Whether every body returned true.
  bool join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return all_well_;
  }
  bool well() const { return all_well_; }

 private:
  std::vector<std::thread> threads_;
  std::atomic<bool> all_well_{true};
};

}  // namespace

TEST_CASE("both ends flood each other through queues of two", "[race]") {
  // Each side is now and then without a receive and blocked by the other one's, in every combination.
  constexpr int kMessages = 1000;
  const Device device;
  EndpointOptions options;
  options.max_send_wr = 2;
  options.max_recv_wr = 2;
  const Pair pair(device, options);
  std::array<std::atomic<int>, 2> sent{}, received{};
  Threads threads;
  for (const int which : {0, 1}) {
    const Endpoint& self = which == 0 ? pair.a : pair.b;
    std::atomic<int>& my_sent = sent[static_cast<std::size_t>(which)];
    std::atomic<int>& my_received = received[static_cast<std::size_t>(which)];
    threads.run([&self, &my_sent] {
      ibv_sge sge = self.buffer.sge(128, 8);
      int posted = 0;
      return eventually([&] {
        if (posted < kMessages && posted - my_sent < 2 && post_send(self.qp(), work(IBV_WR_SEND, {&sge, 1})))
          ++posted;
        return !take(self.send_cq(), my_sent) || my_sent == kMessages;
      });
    });
    threads.run([&self, &my_received] {
      int posted = 0;
      return eventually([&] {
        if (posted < kMessages && posted - my_received < 2 && post_receive(self)) ++posted;
        return !take(self.recv_cq(), my_received) || my_received == kMessages;
      });
    });
  }
  CHECK(threads.join());
  for (const auto* counts : {&sent, &received})
    for (const auto& count : *counts) CHECK(count == kMessages);
}

TEST_CASE("many senders share an SRQ that is nearly always empty, and none starves", "[race]") {
  constexpr int kSenders = 4;
  constexpr int kEach = 300;
  const Device device;
  ibv_srq_init_attr init{nullptr, {2, 1, 0}};
  const SrqPtr srq(ibv_create_srq(device.pd(), &init));
  REQUIRE(srq);
  const Buffer buffer(device.pd(), 4096);
  const CqPtr cq = make_cq(device, 64);
  EndpointOptions receiving;
  receiving.srq = srq.get();
  receiving.cq = cq.get();
  std::vector<Pair> pairs;
  for (int i = 0; i < kSenders; ++i) pairs.emplace_back(device, EndpointOptions{}, receiving);
  std::atomic<int> received{0};
  std::array<std::atomic<int>, kSenders> sent{};
  Threads threads;
  threads.run([&] {
    // A slot is used again only after its message was polled: different senders may write at the same time.
    std::vector<std::uint64_t> free_slots(64);
    std::iota(free_slots.begin(), free_slots.end(), 0);
    int posted = 0;
    return eventually([&] {
      if (posted < kSenders * kEach && !free_slots.empty()) {
        const std::uint64_t slot = free_slots.back();
        ibv_sge sge = buffer.sge(slot * 64, 64);
        ibv_recv_wr wr{slot, nullptr, &sge, 1};
        ibv_recv_wr* bad = nullptr;
        if (ibv_post_srq_recv(srq.get(), &wr, &bad) == 0) {
          free_slots.pop_back();
          ++posted;
        }
      }
      ibv_wc wc{};
      if (ibv_poll_cq(cq.get(), 1, &wc) == 1) {
        if (wc.status != IBV_WC_SUCCESS) return true;
        free_slots.push_back(wc.wr_id);
        ++received;
      }
      return received == kSenders * kEach;
    });
  });
  for (int i = 0; i < kSenders; ++i) {
    threads.run([&, i] {
      const Endpoint& self = pairs[static_cast<std::size_t>(i)].a;
      std::atomic<int>& mine = sent[static_cast<std::size_t>(i)];
      ibv_sge sge = self.buffer.sge(0, 8);
      for (int n = 0; n < kEach; ++n)
        if (!post_send(self.qp(), work(IBV_WR_SEND, {&sge, 1})) ||
            !eventually([&] { return !take(self.send_cq(), mine) || mine == n + 1; }))
          return false;
      return true;
    });
  }
  CHECK(threads.join());
  CHECK(received == kSenders * kEach);
  for (const auto& count : sent) CHECK(count == kEach);
}

TEST_CASE("no byte moves after a region was deregistered", "[race]") {
  const Device device;
  for (int round = 0; round < 60; ++round) {
    const Pair pair(device, EndpointOptions{});
    pair.a.buffer.fill(0x11);
    Buffer target(device.pd(), 8192);
    const std::uint64_t address = target.address();
    const std::uint32_t rkey = target.rkey();
    std::atomic<int> written{0};
    Threads threads;
    threads.run([&] {
      ibv_sge sge = pair.a.buffer.sge(0, 8192);
      const ibv_send_wr write = remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, address, rkey);
      ibv_wc wc{};
      for (;;) {
        if (!post_send(pair.a.qp(), write) ||
            !eventually([&] { return ibv_poll_cq(pair.a.send_cq(), 1, &wc) == 1; }))
          return false;
        written.fetch_add(1);
        if (wc.status != IBV_WC_SUCCESS) return wc.status == IBV_WC_REM_ACCESS_ERR;
      }
    });
    const bool started = eventually([&] { return written > 3 || !threads.well(); });
    target.release();
    target.fill(0xEE);
    CHECK(threads.join());
    CHECK(started);
    for (const std::byte b : target.bytes()) REQUIRE(b == std::byte{0xEE});
  }
}

TEST_CASE("no byte arrives after the receiving queue pair was reset or destroyed", "[race]") {
  const Device device;
  for (int round = 0; round < 60; ++round) {
    EndpointOptions options;
    options.type = IBV_QPT_UC;
    Pair pair(device, options);
    pair.a.buffer.fill(0x11);
    for (int i = 0; i < 64; ++i) pair.b.post_recv(0, 8192);
    std::atomic<int> sent{0};
    std::atomic<bool> stop{false};
    Threads threads;
    threads.run([&] {
      ibv_sge sge = pair.a.buffer.sge(0, 8192);
      while (!stop) {
        if (!post_send(pair.a.qp(), work(IBV_WR_SEND, {&sge, 1}))) return false;
        const int before = sent;
        if (!eventually([&] { return !take(pair.a.send_cq(), sent) || sent > before; })) return false;
      }
      return true;
    });
    const bool started = eventually([&] { return sent > 3 || !threads.well(); });
    if (round % 2 == 0) {
      pair.b.reset();
    } else {
      pair.b.destroy();
    }
    pair.b.buffer.fill(0xEE);
    const int then = sent;
    const bool went_on = eventually([&] { return sent > then + 3 || !threads.well(); });
    stop = true;
    CHECK(threads.join());
    CHECK(started);
    CHECK(went_on);
    for (const std::byte b : pair.b.buffer.bytes()) REQUIRE(b == std::byte{0xEE});
  }
}

TEST_CASE("two ends that fail each other at once both end in ERR with everything flushed", "[race]") {
  const Device device;
  for (int round = 0; round < 100; ++round) {
    const Pair pair(device, EndpointOptions{});
    for (std::uint64_t id = 0; id < 8; ++id) {
      pair.a.post_recv(0, 64, id);
      pair.b.post_recv(0, 64, id);
    }
    std::atomic<int> ready{0};
    Threads threads;
    for (const Endpoint* self : {&pair.a, &pair.b}) {
      threads.run([&, self] {
        const Endpoint& peer = self == &pair.a ? pair.b : pair.a;
        ibv_sge sge = self->buffer.sge(0, 8);
        ready.fetch_add(1);
        if (!eventually([&] { return ready == 2; })) return false;
        if (!post_send(self->qp(), remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, 0x10, peer.buffer.rkey(), 0)))
          return false;
        for (std::uint64_t id = 1; id < 4; ++id)
          if (!post_send(self->qp(), work(IBV_WR_SEND, {&sge, 1}, id))) return false;
        return true;
      });
    }
    CHECK(threads.join());
    for (const Endpoint* self : {&pair.a, &pair.b}) {
      for (std::uint64_t id = 0; id < 4; ++id) {
        const ibv_wc wc = wait_completion(self->send_cq());
        REQUIRE(wc.wr_id == id);
        // The request that breaks the rule is refused by the other end, or flushed because the other's came
        // first, or not answered any more.
        if (id == 0) {
          REQUIRE(wc.status != IBV_WC_SUCCESS);
        } else {
          REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR);
        }
      }
      for (std::uint64_t id = 0; id < 8; ++id) {
        const ibv_wc wc = wait_completion(self->recv_cq());
        REQUIRE(wc.wr_id == id);
        REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR);
      }
      require_empty(self->send_cq());
      require_empty(self->recv_cq());
      REQUIRE(state_of(self->qp()) == IBV_QPS_ERR);
    }
  }
}

TEST_CASE("a reset while another thread polls leaves the send queue its exact length", "[race]") {
  const Device device;
  EndpointOptions options;
  options.max_send_wr = 16;
  const Pair pair(device, options);
  const std::uint32_t room = pair.a.cap.max_send_wr;
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  for (int round = 0; round < 200; ++round) {
    const auto more = static_cast<std::uint32_t>(round) % room + 1;
    for (std::uint32_t i = 0; i < more; ++i)
      pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey()));
    std::atomic<int> polled{0};
    std::atomic<bool> stop{false};
    Threads threads;
    threads.run([&] {
      while (!stop)
        if (!take(pair.a.send_cq(), polled)) return false;
      return true;
    });
    pair.a.reset();
    stop = true;
    REQUIRE(threads.join());
    pair.b.reset();
    pair.connect();
    // Nothing is received, so what is posted stays.
    for (std::uint32_t i = 0; i < room; ++i) pair.a.post(work(IBV_WR_SEND, {&sge, 1}, i));
    REQUIRE(pair.a.try_post(work(IBV_WR_SEND, {&sge, 1})) == ENOMEM);
    pair.a.reset();
    pair.b.reset();
    pair.connect();
  }
}

TEST_CASE("a queue pair changes state for ever while its peer sends", "[race]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    EndpointOptions options;
    options.type = type;
    options.timeout = 0;  // the sender waits as long as its peer is away
    const Pair pair(device, options);
    std::atomic<int> sent{0};
    std::atomic<bool> stop{false};
    Threads threads;
    threads.run([&] {
      ibv_sge sge = pair.a.buffer.sge(0, 8);
      while (!stop) {
        const int before = sent;
        if (!post_send(pair.a.qp(), pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})))) return false;
        if (!eventually([&] { return !take(pair.a.send_cq(), sent) || sent > before || stop; })) return false;
      }
      return true;
    });
    for (int round = 0; round < 150; ++round) {
      pair.b.reset();
      pair.b.ready(pair.a.number());
      for (std::uint64_t id = 0; id < 8; ++id) pair.b.post_recv(0, 128, id);
      std::uint64_t next = 0;
      REQUIRE(move_to(pair.b.qp(), IBV_QPS_ERR) == 0);
      // Received or flushed, each receive comes back once and in order.
      while (next < 8) {
        const ibv_wc wc = wait_completion(pair.b.recv_cq());
        REQUIRE(wc.wr_id == next++);
        REQUIRE((wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR));
      }
      require_empty(pair.b.recv_cq());
    }
    stop = true;
    CHECK(threads.join());
  }
}

TEST_CASE("a CQ is resized while completions arrive and are taken", "[race]") {
  constexpr int kMessages = 3000;
  const Device device;
  const CqPtr cq = make_cq(device, 64);
  EndpointOptions options;
  options.max_send_wr = 32;
  options.cq = cq.get();
  const Pair pair(device, options, EndpointOptions{});
  std::atomic<std::uint64_t> taken{0};
  Threads threads;
  threads.run([&] {
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 0; id < kMessages; ++id) {
      if (!eventually([&] { return id - taken < 32; })) return false;
      if (!post_send(pair.a.qp(), remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(),
                                              pair.b.buffer.rkey(), id)))
        return false;
    }
    return true;
  });
  threads.run([&] {
    ibv_wc wc{};
    for (std::uint64_t id = 0; id < kMessages; ++id) {
      if (!eventually([&] { return ibv_poll_cq(cq.get(), 1, &wc) == 1; })) return false;
      if (wc.wr_id != id || wc.status != IBV_WC_SUCCESS) return false;
      taken = id + 1;
    }
    return true;
  });
  for (int round = 0; taken < kMessages && threads.well(); ++round) {
    REQUIRE(ibv_resize_cq(cq.get(), round % 2 == 0 ? 200 : 40) == 0);
    std::this_thread::yield();
  }
  CHECK(threads.join());
  CHECK(taken == kMessages);
}

TEST_CASE("events of objects that are gone are not delivered", "[race]") {
  const Device device;
  const ChannelPtr channel(ibv_create_comp_channel(device.context()));
  REQUIRE(channel);
  pollfd completion{channel->fd, POLLIN, 0};
  pollfd asynchronous{device.context()->async_fd, POLLIN, 0};
  {
    const CqPtr cq = make_cq(device, 16, channel.get());
    EndpointOptions options;
    options.cq = cq.get();
    const Pair pair(device, options, EndpointOptions{});
    REQUIRE(ibv_req_notify_cq(cq.get(), 0) == 0);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, 0x10, pair.b.buffer.rkey()));
    CHECK(wait_completion(cq.get()).status == IBV_WC_REM_ACCESS_ERR);
    CHECK(poll(&completion, 1, static_cast<int>(std::chrono::milliseconds(kDeadline).count())) == 1);
    CHECK(poll(&asynchronous, 1, static_cast<int>(std::chrono::milliseconds(kDeadline).count())) == 1);
  }
  CHECK(poll(&completion, 1, 0) == 0);
  CHECK(poll(&asynchronous, 1, 0) == 0);
}

TEST_CASE("other verbs work between ibv_wr_start and ibv_wr_complete", "[race]") {
  const Device device;
  const CqPtr cq = make_cq(device);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = device.pd();
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const QpPtr qp(ibv_create_qp_ex(device.context(), &init));
  REQUIRE(qp);
  ibv_qp_ex* extended = ibv_qp_to_qp_ex(qp.get());
  ibv_wr_start(extended);
  {
    const Pair pair(device, EndpointOptions{});
    pair.require_alive();
  }
  ibv_wr_abort(extended);
}

}  // namespace rkv::verbs_test
