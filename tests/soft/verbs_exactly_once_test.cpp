// Reliable service under a bad wire: every operation is done, once, in order (tests/soft/wire/mirror.cpp
// makes the wire bad). RKV_TEST_OPERATIONS says how many.
#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::uint32_t kWindow = 16;
constexpr std::size_t kSlotBytes = 4096;                  // of a message, at most
constexpr std::size_t kCounterAt = kWindow * kSlotBytes;  // in b's buffer, behind its receives
constexpr std::size_t kWordAt = kCounterAt + 64;
constexpr std::size_t kBufferBytes = kCounterAt + kSlotBytes;

std::uint64_t operations() {
  const char* text = std::getenv("RKV_TEST_OPERATIONS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20'000;
}

EndpointOptions impatient() {
  EndpointOptions options;
  options.timeout = 7;  // 0.52 ms
  options.rd_atomic = 8;
  options.buffer_bytes = kBufferBytes;
  return options;
}

enum class Kind : std::uint8_t { send, add, write, read };
Kind kind_of(std::uint64_t operation) {
  return static_cast<Kind>(operation % 4);
}

// One packet most times, and up to four.
std::size_t message_bytes(std::uint64_t operation) {
  return operation % 32 < 4 ? 8 + operation * 37 % 3'500 : 8;
}

std::uint64_t word(const Endpoint& endpoint, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, endpoint.buffer.data() + offset, sizeof value);
  return value;
}
void set_word(const Endpoint& endpoint, std::size_t offset, std::uint64_t value) {
  std::memcpy(endpoint.buffer.data() + offset, &value, sizeof value);
}

std::size_t slot_of(std::uint64_t operation) {
  return operation % kWindow * kSlotBytes;
}

void post(const Pair& pair, std::uint64_t operation) {
  const std::size_t slot = slot_of(operation);
  ibv_sge eight = pair.a.buffer.sge(slot, 8);
  const std::uint64_t counter = pair.b.buffer.address(kCounterAt);
  const std::uint64_t target = pair.b.buffer.address(kWordAt);
  const std::uint32_t key = pair.b.buffer.rkey();
  set_word(pair.a, slot, operation);
  switch (kind_of(operation)) {
    case Kind::send: {
      const std::size_t bytes = message_bytes(operation);
      set_word(pair.a, slot + bytes - 8, operation);
      ibv_sge all = pair.a.buffer.sge(slot, bytes);
      pair.a.post(work(IBV_WR_SEND, {&all, 1}, operation));
      return;
    }
    case Kind::add:
      pair.a.post(atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, {&eight, 1}, counter, key, 1, 0, operation));
      return;
    case Kind::write:
      pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&eight, 1}, target, key, operation));
      return;
    case Kind::read:
      pair.a.post(remote_work(IBV_WR_RDMA_READ, {&eight, 1}, target, key, operation));
  }
}

// A run of operations from a to b, in order, over as many connections as it takes.
class Run {
 public:
  Run(const Pair& pair, std::uint64_t count) : pair_(pair), count_(count) { connect(); }

  void operate() {
    while (done_ < count_ || received_ < sends(count_)) {
      while (posted_ < count_ && posted_ < done_ + kWindow) post_next();
      ibv_wc wc{};
      const bool any = eventually([&] {
        return ibv_poll_cq(pair_.b.recv_cq(), 1, &wc) == 1 || ibv_poll_cq(pair_.a.send_cq(), 1, &wc) == 1;
      });
      INFO("operation " << done_ << " of " << count_ << ", " << received_ << " messages received");
      REQUIRE(any);
      if (wc.status == IBV_WC_RETRY_EXC_ERR) {
        reconnect();
        continue;
      }
      INFO(ibv_wc_status_str(wc.status));
      REQUIRE(wc.status == IBV_WC_SUCCESS);
      if (wc.opcode == IBV_WC_RECV) {
        receive(wc);
        pair_.b.post_recv((received_ - 1) % kWindow * kSlotBytes, kSlotBytes);
        ++posted_receives_;
      } else {
        finish(wc);
      }
    }
  }

  std::uint64_t reconnections() const { return reconnections_; }

 private:
  static std::uint64_t sends(std::uint64_t operations) { return (operations + 3) / 4; }

  void connect() {
    // A wire that stalls brings packets of connections long gone: numbers as far from theirs as 24 bits
    // allow, by the golden ratio.
    const std::uint32_t psn = static_cast<std::uint32_t>(reconnections_) * 0x9e'3779 & 0xff'ffff;
    for (const Endpoint* each : {&pair_.a, &pair_.b}) each->to_init();
    for (const Endpoint* each : {&pair_.a, &pair_.b}) {
      ibv_qp_attr attr = each->attributes((each == &pair_.a ? pair_.b : pair_.a).number());
      attr.qp_state = IBV_QPS_RTR;
      attr.rq_psn = psn;
      REQUIRE(ibv_modify_qp(each->qp(), &attr, Endpoint::rtr_mask(IBV_QPT_RC)) == 0);
      attr.qp_state = IBV_QPS_RTS;
      attr.sq_psn = psn;
      REQUIRE(ibv_modify_qp(each->qp(), &attr, Endpoint::rts_mask(IBV_QPT_RC)) == 0);
    }
    for (std::uint64_t i = 0; i < kWindow; ++i) {
      pair_.b.post_recv((received_ + i) % kWindow * kSlotBytes, kSlotBytes);
    }
    posted_receives_ = kWindow;
  }

  // Both queue pairs end, and start anew. What the old connection did, the other side's memory and messages
  // tell.
  void reconnect() {
    ++reconnections_;
    REQUIRE(move_to(pair_.b.qp(), IBV_QPS_ERR) == 0);
    while (posted_receives_ > 0) {
      if (const ibv_wc wc = wait_completion(pair_.b.recv_cq()); wc.status == IBV_WC_SUCCESS) {
        receive(wc);
      } else {
        --posted_receives_;
      }
    }
    pair_.a.reset();
    pair_.b.reset();
    connect();
    posted_ = done_;
  }

  bool was_done(std::uint64_t operation) const {
    switch (kind_of(operation)) {
      case Kind::send:
        return operation / 4 < received_;
      case Kind::add:
        return operation / 4 < word(pair_.b, kCounterAt);
      default:
        return false;  // may be done again
    }
  }

  void post_next() {
    if (reconnections_ == 0 || !was_done(posted_)) {
      post(pair_, posted_++);
    } else if (posted_ == done_) {
      ++posted_;
      ++done_;
    } else {
      // Behind one that is under way: an operation that changes nothing keeps the order of completions.
      ibv_sge none = pair_.a.buffer.sge(0, 0);
      pair_.a.post(remote_work(IBV_WR_RDMA_WRITE, {&none, 1}, pair_.b.buffer.address(), pair_.b.buffer.rkey(),
                               posted_));
      resolved_ = ++posted_;
    }
  }

  void receive(const ibv_wc& wc) {
    const std::uint64_t sent = received_ * 4;
    const std::size_t place = received_ % kWindow * kSlotBytes;
    REQUIRE(wc.byte_len == message_bytes(sent));
    REQUIRE(word(pair_.b, place + wc.byte_len - 8) == sent);
    ++received_;
    --posted_receives_;
  }

  void finish(const ibv_wc& wc) {
    REQUIRE(wc.wr_id == done_);
    // Additions are counted from 0; and a READ comes behind the WRITE that was posted before it.
    if (kind_of(done_) == Kind::add && done_ >= resolved_)
      REQUIRE(word(pair_.a, slot_of(done_)) == done_ / 4);
    if (kind_of(done_) == Kind::read) REQUIRE(word(pair_.a, slot_of(done_)) >= done_ - 1);
    ++done_;
  }

  const Pair& pair_;
  const std::uint64_t count_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t received_ = 0;  // SENDs; operation 4 n is the n-th
  std::uint64_t posted_receives_ = 0;
  std::uint64_t resolved_ = 0;  // what was done before is among those before it
  std::uint64_t reconnections_ = 0;
};

TEST_CASE("each operation is done once and in order", "[exactly_once]") {
  const Device device;
  const Pair pair(device, impatient());
  pair.a.reset();
  pair.b.reset();
  const std::uint64_t count = operations();
  Run run(pair, count);
  run.operate();
  CHECK(word(pair.b, kCounterAt) == (count + 2) / 4);
  require_empty(pair.a.send_cq());
  require_empty(pair.b.recv_cq());
  // Where the wire is meant to be too bad for the retries.
  if (std::getenv("RKV_TEST_RECONNECTIONS") != nullptr) CHECK(run.reconnections() > 0);
  std::fprintf(stderr, "%llu operations, %llu reconnections\n", static_cast<unsigned long long>(count),
               static_cast<unsigned long long>(run.reconnections()));
}

}  // namespace
}  // namespace rkv::verbs_test
