// Many threads on one device. Sized for ThreadSanitizer on two cores; the threads report through atomics.
#include <array>
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  return options;
}

// The checks that a thread may make: like the fixture's, but reporting by return value.
bool poll_success(ibv_cq* cq, ibv_wc& wc) {
  int polled = 0;
  return eventually([&] { return (polled = ibv_poll_cq(cq, 1, &wc)) != 0; }) && polled == 1 &&
         wc.status == IBV_WC_SUCCESS;
}
bool post_receive(ibv_qp* qp, ibv_sge sge, std::uint64_t id = 0) {
  ibv_recv_wr wr{id, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad) == 0;
}
bool post_send(ibv_qp* qp, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad) == 0;
}

// Runs `body(thread index)` on `count` threads, none of which begins before all are there; true when all
// returned true.
template <typename Body>
bool on_threads(int count, Body body) {
  std::atomic<bool> all{true};
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      if (!body(t)) all = false;
    });
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace

TEST_CASE("many connections echo at once without mixing their data up", "[concurrency]") {
  constexpr int kPairs = 8;
  constexpr std::uint32_t kRounds = 200;
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const std::size_t header = type == IBV_QPT_UD ? kGrhBytes : 0;
    std::vector<Pair> pairs;
    for (int i = 0; i < kPairs; ++i) pairs.emplace_back(device, of_type(type));
    // UC and UD lose what finds no receive: the first is posted here, each further one before the answer.
    for (const Pair& pair : pairs) pair.b.post_recv(1024, 256);
    // Even threads are clients, odd ones the servers of the pair before.
    const bool ok = on_threads(2 * kPairs, [&](int t) {
      const Pair& pair = pairs[static_cast<std::size_t>(t / 2)];
      const bool client = t % 2 == 0;
      const Endpoint& self = client ? pair.a : pair.b;
      const ibv_sge out = self.buffer.sge(0, 64), in = self.buffer.sge(1024, 256);
      ibv_sge out_sge = out;
      const ibv_send_wr send = pair.to_peer(self, work(IBV_WR_SEND, {&out_sge, 1}));
      auto* const out_words = reinterpret_cast<std::uint32_t*>(self.buffer.data());
      const auto* const in_words = reinterpret_cast<const std::uint32_t*>(self.buffer.data() + 1024 + header);
      ibv_wc wc{};
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        if (client) {
          if (!post_receive(self.qp(), in)) return false;
          for (std::uint32_t i = 0; i < 16; ++i)
            out_words[i] = round * 1000 + static_cast<std::uint32_t>(t) + i;
          if (!post_send(self.qp(), send) || !poll_success(self.send_cq(), wc) ||
              !poll_success(self.recv_cq(), wc))
            return false;
          for (std::uint32_t i = 0; i < 16; ++i)
            if (in_words[i] != round * 1000 + static_cast<std::uint32_t>(t) + i + 1) return false;
        } else {
          if (!poll_success(self.recv_cq(), wc)) return false;
          for (std::uint32_t i = 0; i < 16; ++i) out_words[i] = in_words[i] + 1;
          if (round + 1 < kRounds && !post_receive(self.qp(), in)) return false;
          if (!post_send(self.qp(), send) || !poll_success(self.send_cq(), wc)) return false;
        }
      }
      return true;
    });
    CHECK(ok);
  }
}

TEST_CASE("several threads may post to one queue pair and poll one CQ", "[concurrency]") {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 500;
  const Device device;
  EndpointOptions options;
  options.max_send_wr = kThreads;
  options.max_recv_wr = 256;
  const Pair pair(device, options);
  std::array<std::atomic<std::uint64_t>, kThreads> sent_completions{}, received{};
  std::atomic<std::uint64_t> in_all{0}, sent_in_all{0};
  for (int i = 0; i < 64; ++i) pair.b.post_recv(0, 64);
  const bool ok = on_threads(2 * kThreads, [&](int t) {
    ibv_wc wc{};
    if (t < kThreads) {  // senders: one outstanding each, but a completion may be taken by another one
      ibv_sge sge = pair.a.buffer.sge(static_cast<std::size_t>(t) * 64, 8);
      const auto id = static_cast<std::uint64_t>(t);
      for (std::uint64_t i = 0; i < kEach; ++i) {
        ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, {&sge, 1}, id);
        wr.imm_data = static_cast<std::uint32_t>(t);
        if (!post_send(pair.a.qp(), wr)) return false;
        const bool done = eventually([&] {
          if (ibv_poll_cq(pair.a.send_cq(), 1, &wc) == 1) {
            if (wc.status != IBV_WC_SUCCESS || wc.wr_id >= kThreads) return false;
            sent_completions[wc.wr_id].fetch_add(1);
            sent_in_all.fetch_add(1);
          }
          return sent_completions[id] == i + 1;
        });
        if (!done) return false;
      }
      return true;
    }
    return eventually([&] {
      if (ibv_poll_cq(pair.b.recv_cq(), 1, &wc) == 1) {
        if (wc.status != IBV_WC_SUCCESS || wc.imm_data >= kThreads) return false;
        received[wc.imm_data].fetch_add(1);
        in_all.fetch_add(1);
        if (!post_receive(pair.b.qp(), pair.b.buffer.sge(0, 64))) return false;
      }
      return in_all == kThreads * kEach;
    });
  });
  CHECK(ok);
  for (int t = 0; t < kThreads; ++t) {
    CHECK(sent_completions[static_cast<std::size_t>(t)] == kEach);
    CHECK(received[static_cast<std::size_t>(t)] == kEach);
  }
}

TEST_CASE("atomics from many threads add up and each sees another value", "[concurrency]") {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 4000;
  const Device device;
  const Buffer counter(device.pd(), 64);
  counter.fill(0);
  std::vector<Pair> pairs;
  EndpointOptions options;
  options.timeout = 17;  // eight times 0.5 s: longer than a busy machine keeps the other process waiting
  for (int t = 0; t < kThreads; ++t) pairs.emplace_back(device, options);
  std::vector<std::vector<std::uint64_t>> seen(kThreads);
  std::atomic<std::uint64_t> swaps{0};
  const bool ok = on_threads(kThreads, [&](int t) {
    const Endpoint& self = pairs[static_cast<std::size_t>(t)].a;
    ibv_sge sge = self.buffer.sge(0, 8);
    ibv_wc wc{};
    std::uint64_t old = 0;
    for (std::uint64_t i = 0; i < kEach; ++i) {
      if (!post_send(self.qp(), atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, {&sge, 1}, counter.address(),
                                            counter.rkey(), 1, 0)) ||
          !poll_success(self.send_cq(), wc))
        return false;
      std::memcpy(&old, self.buffer.data(), 8);
      seen[static_cast<std::size_t>(t)].push_back(old);
      // And a lock taken by compare-and-swap: a second word counts who got through.
      if (!post_send(self.qp(), atomic_work(IBV_WR_ATOMIC_CMP_AND_SWP, {&sge, 1}, counter.address(8),
                                            counter.rkey(), i, i + 1)) ||
          !poll_success(self.send_cq(), wc))
        return false;
      std::memcpy(&old, self.buffer.data(), 8);
      if (old == i) swaps.fetch_add(1);
    }
    return true;
  });
  REQUIRE(ok);
  std::uint64_t total = 0, swapped = 0;
  std::memcpy(&total, counter.data(), 8);
  std::memcpy(&swapped, counter.data() + 8, 8);
  CHECK(total == kThreads * kEach);
  CHECK(swapped == swaps);
  std::vector<bool> values(kThreads * kEach, false);
  for (const auto& mine : seen)
    for (const std::uint64_t value : mine) {
      REQUIRE(value < values.size());
      REQUIRE(!values[value]);
      values[value] = true;
    }
}

TEST_CASE("a peer that looks at memory sees a WRITE whole once it sees its last word", "[concurrency]") {
  constexpr std::uint64_t kRounds = 3000;
  constexpr std::size_t kWords = 44;  // 352 bytes
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    pair.a.buffer.fill(0);
    pair.b.buffer.fill(0);
    const auto side = [&](const Endpoint& self, const Endpoint& peer, bool first) {
      auto* const out = reinterpret_cast<std::uint64_t*>(self.buffer.data());
      auto* const in = reinterpret_cast<std::uint64_t*>(self.buffer.data() + 4096);
      ibv_sge sge = self.buffer.sge(0, kWords * 8);
      const ibv_send_wr write =
          remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, peer.buffer.address(4096), peer.buffer.rkey());
      ibv_wc wc{};
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        const auto wait_for_peer = [&] {
          const std::atomic_ref<std::uint64_t> last(in[kWords - 1]);
          if (!eventually([&] { return last.load(std::memory_order_acquire) == round; })) return false;
          for (std::size_t i = 0; i + 1 < kWords; ++i)
            if (in[i] != round * 100 + i) return false;
          return true;
        };
        if (!first && !wait_for_peer()) return false;
        for (std::size_t i = 0; i + 1 < kWords; ++i) out[i] = round * 100 + i;
        out[kWords - 1] = round;
        if (!post_send(self.qp(), write) || !poll_success(self.send_cq(), wc)) return false;
        if (first && !wait_for_peer()) return false;
      }
      return true;
    };
    CHECK(on_threads(
        2, [&](int t) { return t == 0 ? side(pair.a, pair.b, true) : side(pair.b, pair.a, false); }));
  }
}

TEST_CASE("one-sided operations of several connections may meet in the same memory", "[concurrency]") {
  constexpr int kThreads = 4;
  constexpr int kEach = 400;
  constexpr std::size_t kBytes = 1024;
  const Device device;
  const Buffer shared(device.pd(), kBytes);
  shared.fill(0);
  std::vector<Pair> pairs;
  for (int t = 0; t < kThreads; ++t) pairs.emplace_back(device, EndpointOptions{});
  const bool ok = on_threads(kThreads, [&](int t) {
    const Endpoint& self = pairs[static_cast<std::size_t>(t)].a;
    ibv_sge sge = self.buffer.sge(0, kBytes);
    ibv_wc wc{};
    for (int i = 0; i < kEach; ++i) {
      const bool write = (i + t) % 2 == 0;
      if (write) self.buffer.fill(static_cast<std::uint8_t>(1 + t));
      if (!post_send(self.qp(), remote_work(write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, {&sge, 1},
                                            shared.address(), shared.rkey())) ||
          !poll_success(self.send_cq(), wc))
        return false;
      if (write) continue;
      // Whoever won, every byte was written by somebody.
      for (std::size_t b = 0; b < kBytes; ++b)
        if (self.buffer.data()[b] > std::byte{kThreads}) return false;
    }
    return true;
  });
  CHECK(ok);
}

TEST_CASE("many UD senders reach one UD queue pair", "[concurrency]") {
  constexpr int kSenders = 4;
  constexpr int kEach = 400;
  constexpr int kWindow = 16;
  const Device device;
  EndpointOptions options = of_type(IBV_QPT_UD);
  options.max_recv_wr = kSenders * kWindow;
  const Endpoint server(device, options);
  server.ready(0);
  ibv_ah_attr address = device.loopback();
  const AhPtr ah(ibv_create_ah(device.pd(), &address));
  REQUIRE(ah);
  std::vector<std::unique_ptr<Endpoint>> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.push_back(std::make_unique<Endpoint>(device, options));
    senders.back()->ready(0);
  }
  for (int i = 0; i < kSenders * kWindow; ++i) server.post_recv(0, 128);
  std::array<std::atomic<int>, kSenders> served{};
  const bool ok = on_threads(kSenders + 1, [&](int t) {
    ibv_wc wc{};
    if (t == kSenders) {
      for (int i = 0; i < kSenders * kEach; ++i) {
        if (!poll_success(server.recv_cq(), wc) || wc.imm_data >= kSenders) return false;
        if (wc.src_qp != senders[wc.imm_data]->number()) return false;
        if (!post_receive(server.qp(), server.buffer.sge(0, 128))) return false;
        served[wc.imm_data].fetch_add(1);
      }
      return true;
    }
    const Endpoint& self = *senders[static_cast<std::size_t>(t)];
    ibv_sge sge = self.buffer.sge(0, 32);
    ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, {&sge, 1});
    wr.imm_data = static_cast<std::uint32_t>(t);
    wr.wr.ud.ah = ah.get();
    wr.wr.ud.remote_qpn = server.number();
    wr.wr.ud.remote_qkey = kQkey;
    for (int i = 0; i < kEach; ++i) {
      if (!eventually([&] { return i - served[static_cast<std::size_t>(t)] < kWindow; })) return false;
      if (!post_send(self.qp(), wr) || !poll_success(self.send_cq(), wc)) return false;
    }
    return true;
  });
  CHECK(ok);
}

TEST_CASE("queue pairs and regions come and go while others are busy", "[concurrency]") {
  const Device device;
  const Pair busy(device, EndpointOptions{});
  const CqPtr cq = make_cq(device);
  std::atomic<bool> stop{false};
  const bool ok = on_threads(3, [&](int t) {
    ibv_wc wc{};
    if (t == 0) {
      ibv_sge sge = busy.a.buffer.sge(0, 256);
      for (int i = 0; i < 2000; ++i) {
        if (!post_send(busy.a.qp(), remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, busy.b.buffer.address(),
                                                busy.b.buffer.rkey())) ||
            !poll_success(busy.a.send_cq(), wc)) {
          stop = true;
          return false;
        }
      }
      stop = true;
      return true;
    }
    std::array<std::byte, 4096> memory{};
    while (!stop) {
      ibv_mr* region = ibv_reg_mr(device.pd(), memory.data(), memory.size(), kAllAccess);
      ibv_qp_init_attr init{};
      init.qp_type = t == 1 ? IBV_QPT_RC : IBV_QPT_UD;
      init.send_cq = init.recv_cq = cq.get();
      init.cap = {4, 4, 1, 1, 0};
      ibv_qp* qp = ibv_create_qp(device.pd(), &init);
      if (region == nullptr || qp == nullptr) return false;
      if (ibv_destroy_qp(qp) != 0 || ibv_dereg_mr(region) != 0) return false;
    }
    return true;
  });
  CHECK(ok);
}

TEST_CASE("a peer that is destroyed while requests arrive fails them and nothing else", "[concurrency]") {
  const Device device;
  EndpointOptions options;
  options.timeout = 14;     // six times 67 ms: longer than a busy machine keeps an answer waiting
  options.retry_count = 5;  // not 7, which is for ever to the kernel's Soft-RoCE
  for (int round = 0; round < 10; ++round) {
    Pair pair(device, options);
    std::atomic<int> done{0};
    std::atomic<bool> sane{true};
    std::thread sender([&] {
      ibv_sge sge = pair.a.buffer.sge(0, 64);
      const ibv_send_wr wr =
          remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey());
      for (;;) {
        ibv_wc wc{};
        if (!post_send(pair.a.qp(), wr) ||
            !eventually([&] { return ibv_poll_cq(pair.a.send_cq(), 1, &wc) == 1; })) {
          sane = false;
          break;
        }
        done.fetch_add(1);
        if (wc.status == IBV_WC_SUCCESS) continue;
        sane = wc.status == IBV_WC_RETRY_EXC_ERR;
        break;
      }
    });
    const bool started = eventually([&] { return done > 10 || !sane; });
    pair.b.destroy();
    sender.join();
    CHECK(started);
    CHECK(sane);
  }
}

}  // namespace rkv::verbs_test
