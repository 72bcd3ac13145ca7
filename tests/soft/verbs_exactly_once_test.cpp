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

TEST_CASE("each operation is done once and in order", "[exactly_once]") {
  const Device device;
  const Pair pair(device, impatient());
  const std::uint64_t count = operations();
  for (std::uint64_t i = 0; i < kWindow; ++i) pair.b.post_recv(i * kSlotBytes, kSlotBytes, i * 4);
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t received = 0;  // SENDs; operation 4 n is the n-th
  while (done < count || received < (count + 3) / 4) {
    while (posted < count && posted < done + kWindow) post(pair, posted++);
    ibv_wc wc{};
    const bool any = eventually([&] {
      if (ibv_poll_cq(pair.b.recv_cq(), 1, &wc) == 1) return true;
      return ibv_poll_cq(pair.a.send_cq(), 1, &wc) == 1;
    });
    INFO("operation " << done << " of " << count << ", " << received << " messages received");
    REQUIRE(any);
    INFO(ibv_wc_status_str(wc.status));
    REQUIRE(wc.status == IBV_WC_SUCCESS);
    if (wc.opcode == IBV_WC_RECV) {
      const std::uint64_t sent = received * 4;
      const std::size_t place = received % kWindow * kSlotBytes;
      REQUIRE(wc.byte_len == message_bytes(sent));
      REQUIRE(word(pair.b, place + wc.byte_len - 8) == sent);
      pair.b.post_recv(place, kSlotBytes);
      ++received;
      continue;
    }
    REQUIRE(wc.wr_id == done);
    // Counted from 0; and a READ comes behind the WRITE that was posted before it.
    if (kind_of(done) == Kind::add) REQUIRE(word(pair.a, slot_of(done)) == done / 4);
    if (kind_of(done) == Kind::read) REQUIRE(word(pair.a, slot_of(done)) >= done - 1);
    ++done;
  }
  CHECK(word(pair.b, kCounterAt) == (count + 2) / 4);
  require_empty(pair.a.send_cq());
  require_empty(pair.b.recv_cq());
}

}  // namespace
}  // namespace rkv::verbs_test
