// Completion channels: when an event is raised and for whom, blocking and not, and that no wake-up is lost.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

ChannelPtr make_channel(const Device& device) {
  ChannelPtr channel(ibv_create_comp_channel(device.context()));
  REQUIRE(channel);
  return channel;
}

// Whether the channel's descriptor is readable now (0) or becomes so before the deadline.
bool readable(const ibv_comp_channel* channel, int timeout_ms) {
  pollfd descriptor{channel->fd, POLLIN, 0};
  return poll(&descriptor, 1, timeout_ms) == 1;
}
const int kDeadlineMs = static_cast<int>(std::chrono::milliseconds(kDeadline).count());

// Takes one event, acknowledges it, and gives the CQ it named. Usable from any thread; nullptr when none
// came.
ibv_cq* take_event(ibv_comp_channel* channel) {
  if (!readable(channel, kDeadlineMs)) return nullptr;
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  if (ibv_get_cq_event(channel, &cq, &user) != 0) return nullptr;
  ibv_ack_cq_events(cq, 1);
  return cq;
}

// A pair whose b side receives into a CQ with a channel.
struct Listening {
  explicit Listening(ibv_qp_type type = IBV_QPT_RC)
      : channel(make_channel(device)),
        cq(make_cq(device, 512, channel.get())),
        pair(device, sender(type), receiver(type)) {}

  EndpointOptions sender(ibv_qp_type type) const {
    EndpointOptions options;
    options.type = type;
    return options;
  }
  EndpointOptions receiver(ibv_qp_type type) const {
    EndpointOptions options = sender(type);
    options.cq = cq.get();
    options.max_recv_wr = 256;
    return options;
  }
  void send(unsigned flags = 0) const {
    pair.b.post_recv(0, 128);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 1, IBV_SEND_SIGNALED | flags)));
    wait_success(pair.a.send_cq());
  }
  // Sends and waits until the message's completion is in the CQ, so that its event, if any, has been raised.
  void deliver(unsigned flags = 0) const {
    send(flags);
    wait_success(cq.get());
  }

  Device device;
  ChannelPtr channel;
  CqPtr cq;
  Pair pair;
};

}  // namespace

TEST_CASE("an armed CQ raises one event for the next completion, and no more until it is armed again",
          "[event]") {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Listening side(type);
    side.deliver();
    CHECK(!readable(side.channel.get(), 0));  // not armed
    REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
    CHECK(!readable(side.channel.get(), 0));
    side.deliver();
    side.deliver();
    CHECK(take_event(side.channel.get()) == side.cq.get());
    CHECK(!readable(side.channel.get(), 0));
    side.deliver();
    CHECK(!readable(side.channel.get(), 0));
    REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
    side.deliver();
    CHECK(take_event(side.channel.get()) == side.cq.get());
  }
}

TEST_CASE("arming a CQ twice still gives one event", "[event]") {
  const Listening side;
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
  side.deliver();
  side.deliver();
  CHECK(take_event(side.channel.get()) == side.cq.get());
  CHECK(!readable(side.channel.get(), 0));
}

TEST_CASE("an event carries the CQ and the context given at its creation", "[event]") {
  const Device device;
  const ChannelPtr channel = make_channel(device);
  int mark_one = 0, mark_two = 0;
  const CqPtr one = make_cq(device, 16, channel.get(), &mark_one);
  const CqPtr two = make_cq(device, 16, channel.get(), &mark_two);
  CHECK(one->cq_context == &mark_one);
  CHECK(one->channel == channel.get());
  EndpointOptions first, second;
  first.cq = one.get();
  second.cq = two.get();
  const Pair pair(device, first, second);
  REQUIRE(ibv_req_notify_cq(one.get(), 0) == 0);
  REQUIRE(ibv_req_notify_cq(two.get(), 0) == 0);
  pair.b.post_recv(0, 64, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 2));
  bool seen_one = false, seen_two = false;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(readable(channel.get(), kDeadlineMs));
    ibv_cq* cq = nullptr;
    void* user = nullptr;
    REQUIRE(ibv_get_cq_event(channel.get(), &cq, &user) == 0);
    CHECK(user == (cq == one.get() ? &mark_one : &mark_two));
    seen_one |= cq == one.get();
    seen_two |= cq == two.get();
    ibv_ack_cq_events(cq, 1);
  }
  CHECK(seen_one);
  CHECK(seen_two);
}

TEST_CASE("solicited only: a plain message raises no event, a solicited one does", "[event]") {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Listening side(type);
    REQUIRE(ibv_req_notify_cq(side.cq.get(), 1) == 0);
    side.deliver();
    side.deliver();
    CHECK(!readable(side.channel.get(), 0));
    side.deliver(IBV_SEND_SOLICITED);
    CHECK(take_event(side.channel.get()) == side.cq.get());
  }
}

TEST_CASE("solicited only: RDMA WRITE with immediate can be solicited", "[event]") {
  const Listening side;
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 1) == 0);
  for (const unsigned flags : {0U, static_cast<unsigned>(IBV_SEND_SOLICITED)}) {
    REQUIRE(side.pair.b.try_post_recv({}) == 0);
    side.pair.a.post(remote_work(IBV_WR_RDMA_WRITE_WITH_IMM, {}, 0, 0, 1, IBV_SEND_SIGNALED | flags));
    wait_success(side.pair.a.send_cq());
    wait_success(side.cq.get());
    if (flags == 0) CHECK(!readable(side.channel.get(), 0));
  }
  CHECK(take_event(side.channel.get()) == side.cq.get());
}

TEST_CASE("solicited only: a send completion raises no event unless it failed", "[event]") {
  const Listening side;
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 1) == 0);
  side.pair.a.post_recv(0, 64);
  ibv_sge sge = side.pair.b.buffer.sge(0, 8);
  side.pair.b.post(work(IBV_WR_SEND, {&sge, 1}, 1, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
  wait_success(side.cq.get());
  CHECK(!readable(side.channel.get(), 0));
  sge.lkey ^= 0x6b6b6b00U;
  side.pair.b.post(work(IBV_WR_SEND, {&sge, 1}, 2));
  CHECK(take_event(side.channel.get()) == side.cq.get());
  CHECK(wait_completion(side.cq.get()).status == IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("asking for solicited events does not take back that any event was asked for", "[event]") {
  const Listening side;
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 1) == 0);
  side.deliver();
  CHECK(take_event(side.channel.get()) == side.cq.get());
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 1) == 0);
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
  side.deliver();
  CHECK(take_event(side.channel.get()) == side.cq.get());
}

TEST_CASE("a non-blocking channel without events says EAGAIN", "[event]") {
  const Listening side;
  set_nonblocking(side.channel->fd);
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  errno = 0;
  CHECK(ibv_get_cq_event(side.channel.get(), &cq, &user) == -1);
  CHECK(errno == EAGAIN);
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
  side.deliver();
  REQUIRE(readable(side.channel.get(), kDeadlineMs));
  REQUIRE(ibv_get_cq_event(side.channel.get(), &cq, &user) == 0);
  CHECK(cq == side.cq.get());
  ibv_ack_cq_events(cq, 1);
  CHECK(ibv_get_cq_event(side.channel.get(), &cq, &user) == -1);
}

TEST_CASE("the asynchronous events of a device can be read without blocking", "[event]") {
  const Device device;
  set_nonblocking(device.context()->async_fd);
  ibv_async_event event{};
  errno = 0;
  CHECK(ibv_get_async_event(device.context(), &event) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("a CQ cannot be destroyed before its events are acknowledged, and can afterwards", "[event]") {
  const Device device;
  const ChannelPtr channel = make_channel(device);
  CqPtr cq = make_cq(device, 16, channel.get());
  {
    EndpointOptions options;
    options.cq = cq.get();
    const Pair pair(device, options, EndpointOptions{});
    REQUIRE(ibv_req_notify_cq(cq.get(), 0) == 0);
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {}, 0, 0));
    REQUIRE(readable(channel.get(), kDeadlineMs));
  }
  ibv_cq* named = nullptr;
  void* user = nullptr;
  REQUIRE(ibv_get_cq_event(channel.get(), &named, &user) == 0);
  std::atomic<bool> acknowledged{false};
  std::atomic<bool> destroyed_after_acknowledgement{false};
  std::atomic<bool> returned{false};
  std::thread destroyer([&, raw = cq.release()] {
    const bool ok = ibv_destroy_cq(raw) == 0;
    destroyed_after_acknowledgement = ok && acknowledged;
    returned = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // a chance to do the wrong thing
  acknowledged = true;
  ibv_ack_cq_events(named, 1);
  join_or_abort(destroyer, returned, "ibv_destroy_cq");
  CHECK(destroyed_after_acknowledgement);
}

TEST_CASE("no wake-up is lost between a sender and a receiver that sleeps", "[event]") {
  // The receiver goes to sleep as often as it can: poll until empty, arm, poll once more, block.
  constexpr int kMessages = 3000;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Listening side(type);
    const Endpoint& receiver = side.pair.b;
    std::atomic<int> received{0};
    std::atomic<const char*> failure{nullptr};
    for (int i = 0; i < 64; ++i) receiver.post_recv(0, 128);

    std::thread sleeper([&] {
      ibv_sge sge = receiver.buffer.sge(0, 128);
      ibv_recv_wr again{0, nullptr, &sge, 1};
      ibv_recv_wr* bad = nullptr;
      ibv_wc wc{};
      const auto drain = [&] {
        int count = 0;
        while (ibv_poll_cq(side.cq.get(), 1, &wc) == 1) {
          if (wc.status != IBV_WC_SUCCESS) failure = "a receive failed";
          if (ibv_post_recv(receiver.qp(), &again, &bad) != 0) failure = "a receive could not be posted";
          ++count;
          received.fetch_add(1);
        }
        return count;
      };
      while (received < kMessages && failure == nullptr) {
        if (drain() > 0) continue;
        if (ibv_req_notify_cq(side.cq.get(), 0) != 0) failure = "the CQ could not be armed";
        if (drain() > 0) continue;
        if (take_event(side.channel.get()) == nullptr) failure = "no event came, although a message was sent";
      }
    });
    ibv_sge sge = side.pair.a.buffer.sge(0, 8);
    for (int i = 0; i < kMessages && failure == nullptr; ++i) {
      // At most 32 ahead, so that UD always finds a receive; often none ahead, so that the receiver sleeps.
      const int ahead = i % 7 == 0 ? 32 : 1;
      if (!eventually([&] { return i - received < ahead || failure != nullptr; })) break;
      side.pair.a.post(side.pair.to_peer(side.pair.a, work(IBV_WR_SEND, {&sge, 1}, 0)));
      wait_success(side.pair.a.send_cq());
    }
    sleeper.join();
    INFO((failure == nullptr ? "" : failure.load()));
    CHECK(received == kMessages);
  }
}

TEST_CASE("several threads can sleep on one channel: every completion is taken once, nobody sleeps for ever",
          "[event]") {
  constexpr int kThreads = 4;
  constexpr int kMessages = 2000;
  const Listening side;
  const Endpoint& receiver = side.pair.b;
  set_nonblocking(side.channel->fd);
  std::atomic<int> received{0};
  std::atomic<bool> failed{false};
  for (int i = 0; i < 64; ++i) receiver.post_recv(0, 128);
  REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);

  std::vector<std::thread> sleepers;
  for (int t = 0; t < kThreads; ++t) {
    sleepers.emplace_back([&] {
      ibv_sge sge = receiver.buffer.sge(0, 128);
      ibv_recv_wr again{0, nullptr, &sge, 1};
      ibv_recv_wr* bad = nullptr;
      ibv_wc wc{};
      const auto deadline = std::chrono::steady_clock::now() + kDeadline;
      while (received < kMessages && !failed) {
        if (std::chrono::steady_clock::now() > deadline) failed = true;
        // One of the sleepers gets the event; the short time-out is only for noticing the end of the test.
        if (!readable(side.channel.get(), 20)) continue;
        ibv_cq* cq = nullptr;
        void* user = nullptr;
        if (ibv_get_cq_event(side.channel.get(), &cq, &user) != 0) continue;  // another one was quicker
        ibv_ack_cq_events(cq, 1);
        if (ibv_req_notify_cq(cq, 0) != 0) failed = true;
        while (ibv_poll_cq(cq, 1, &wc) == 1) {
          if (wc.status != IBV_WC_SUCCESS || ibv_post_recv(receiver.qp(), &again, &bad) != 0) failed = true;
          received.fetch_add(1);
        }
      }
    });
  }
  ibv_sge sge = side.pair.a.buffer.sge(0, 8);
  for (int i = 0; i < kMessages && !failed; ++i) {
    side.pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 0));
    wait_success(side.pair.a.send_cq());
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
  CHECK(!failed);
  CHECK(received == kMessages);
}

TEST_CASE("a thread blocked in ibv_get_cq_event is woken", "[event]") {
  const Listening side;
  for (int round = 0; round < 100; ++round) {
    REQUIRE(ibv_req_notify_cq(side.cq.get(), 0) == 0);
    std::atomic<bool> woken{false};
    std::atomic<bool> returned{false};
    std::thread sleeper([&] {
      ibv_cq* cq = nullptr;
      void* user = nullptr;
      woken = ibv_get_cq_event(side.channel.get(), &cq, &user) == 0 && cq == side.cq.get();
      if (woken) ibv_ack_cq_events(cq, 1);
      returned = true;
    });
    side.deliver();
    join_or_abort(sleeper, returned, "ibv_get_cq_event");
    REQUIRE(woken);
  }
}

}  // namespace rkv::verbs_test
