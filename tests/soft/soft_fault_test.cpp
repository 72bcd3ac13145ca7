// Fault injection of the soft RNIC: every fault is counted, reaches only the transports it is meant for, and
// is the same again for the same seed.
#include <arpa/inet.h>

#include <algorithm>
#include <cmath>

#include "backends/verbs/soft/fault.h"
#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

// Faults for one scope.
class Faults {
 public:
  explicit Faults(const rkv_soft_faults& faults) {
    rkv_soft_reset_fault_counters();
    REQUIRE(rkv_soft_set_faults(&faults) == 0);
  }
  ~Faults() { rkv_soft_set_faults(nullptr); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  static rkv_soft_fault_counters counters() {
    rkv_soft_fault_counters counters{};
    rkv_soft_get_fault_counters(&counters);
    return counters;
  }
};

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  options.max_recv_wr = 256;
  options.cq_depth = 512;
  return options;
}

// Numbered messages from a to b of a pair, with receives for all of their copies.
class Stream {
 public:
  explicit Stream(const Pair& pair) : pair_(pair) {
    for (int i = 0; i < 128; ++i) pair_.b.post_recv(0, 128);
  }

  // Sends the numbers from 0 to count - 1 under `settings` and gives them as they came. Faults are off again
  // for the last message, a marker, so that everything before it has arrived, is lost, or was held back.
  std::vector<std::uint32_t> transmit(std::uint32_t count, const rkv_soft_faults& settings) {
    arrived_.clear();
    rkv_soft_reset_fault_counters();
    REQUIRE(rkv_soft_set_faults(&settings) == 0);
    ibv_wc wc{};
    for (std::uint32_t number = 0; number < count; ++number) {
      send(number);
      while (ibv_poll_cq(pair_.b.recv_cq(), 1, &wc) == 1) take(wc);
    }
    REQUIRE(rkv_soft_set_faults(nullptr) == 0);
    send(kMarker);
    while (!take(wait_success(pair_.b.recv_cq()))) {
    }
    const auto counters = Faults::counters();
    const std::size_t expected = count - counters.dropped + counters.duplicated;
    INFO("waiting for " << expected << " messages, " << arrived_.size() << " came before the marker");
    CHECK(eventually([&] {
      while (ibv_poll_cq(pair_.b.recv_cq(), 1, &wc) == 1) take(wc);
      return arrived_.size() >= expected;
    }));
    return arrived_;
  }

 private:
  static constexpr std::uint32_t kMarker = 0xffffffff;

  void send(std::uint32_t number) {
    ibv_sge sge = pair_.a.buffer.sge(0, 16);
    ibv_send_wr wr = pair_.to_peer(pair_.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}));
    wr.imm_data = htonl(number);
    pair_.a.post(wr);
    wait_success(pair_.a.send_cq());
  }
  // Whether it was the marker.
  bool take(const ibv_wc& wc) {
    CHECK(wc.status == IBV_WC_SUCCESS);
    pair_.b.post_recv(0, 128);
    if (ntohl(wc.imm_data) == kMarker) return true;
    arrived_.push_back(ntohl(wc.imm_data));
    return false;
  }

  const Pair& pair_;
  std::vector<std::uint32_t> arrived_;
};

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

}  // namespace

TEST_CASE("dropped messages are counted and nothing else is missing", "[fault]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    rkv_soft_faults settings{};
    settings.seed = 7;
    settings.drop_probability = 0.3;
    const Faults faults(settings);
    const auto arrived = Stream(pair).transmit(500, settings);
    const auto counters = Faults::counters();
    CHECK(arrived.size() + counters.dropped == 500);
    CHECK(counters.dropped > 50);
    CHECK(counters.dropped < 300);
    CHECK(counters.duplicated == 0);
    CHECK(counters.reordered == 0);
    CHECK(std::is_sorted(arrived.begin(), arrived.end()));
    CHECK(std::adjacent_find(arrived.begin(), arrived.end()) == arrived.end());
  }
}

TEST_CASE("everything can be dropped, and the sender still succeeds", "[fault]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    const Pair pair(device, of_type(type));
    rkv_soft_faults settings{};
    settings.drop_probability = 1;
    const Faults faults(settings);
    CHECK(Stream(pair).transmit(50, settings).empty());
    CHECK(Faults::counters().dropped == 50);
  }
}

TEST_CASE("a dropped UC WRITE leaves memory alone", "[fault]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UC));
  pair.a.buffer.fill(0x11);
  pair.b.buffer.fill(0xEE);
  rkv_soft_faults settings{};
  settings.drop_probability = 1;
  {
    const Faults faults(settings);
    ibv_sge sge = pair.a.buffer.sge(0, 64);
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey()));
    wait_success(pair.a.send_cq());
    CHECK(Faults::counters().dropped == 1);
  }
  pair.require_alive();
  CHECK(pair.b.buffer.data()[0] == std::byte{0xEE});
}

TEST_CASE("duplicated messages arrive twice in a row and are counted", "[fault]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    rkv_soft_faults settings{};
    settings.seed = 11;
    settings.duplicate_probability = 0.5;
    const Faults faults(settings);
    auto arrived = Stream(pair).transmit(300, settings);
    const auto counters = Faults::counters();
    CHECK(arrived.size() == 300 + counters.duplicated);
    CHECK(counters.duplicated > 50);
    CHECK(counters.duplicated < 250);
    CHECK(counters.dropped == 0);
    arrived.erase(std::unique(arrived.begin(), arrived.end()), arrived.end());
    CHECK(arrived == numbers(300));
  }
}

TEST_CASE("reordered messages arrive once each, out of order, and are counted", "[fault]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    rkv_soft_faults settings{};
    settings.seed = 13;
    settings.reorder_probability = 0.3;
    const Faults faults(settings);
    auto arrived = Stream(pair).transmit(300, settings);
    const auto counters = Faults::counters();
    CHECK(counters.reordered > 30);
    CHECK(counters.dropped == 0);
    CHECK(!std::is_sorted(arrived.begin(), arrived.end()));
    std::sort(arrived.begin(), arrived.end());
    CHECK(arrived == numbers(300));
  }
}

TEST_CASE("a message held back with none behind it still arrives", "[fault]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UD));
  rkv_soft_faults settings{};
  settings.reorder_probability = 1;
  const Faults faults(settings);
  pair.b.post_recv(0, 128, 5);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  pair.a.buffer.fill(0x99);
  wait_success(pair.a.send_cq());
  CHECK(wait_success(pair.b.recv_cq()).wr_id == 5);
}

TEST_CASE("the same seed brings the same faults, another seed others", "[fault]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UD));
  rkv_soft_faults settings{};
  settings.seed = 99;
  settings.drop_probability = 0.2;
  settings.duplicate_probability = 0.2;
  const Faults faults(settings);
  Stream stream(pair);
  const auto first = stream.transmit(200, settings);
  CHECK(stream.transmit(200, settings) == first);
  settings.seed = 100;
  CHECK(stream.transmit(200, settings) != first);
}

TEST_CASE("RC meets no drop, duplicate or reordering", "[fault]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  rkv_soft_faults settings{};
  settings.drop_probability = 0.3;
  settings.duplicate_probability = 0.3;
  settings.reorder_probability = 0.3;
  const Faults faults(settings);
  CHECK(Stream(pair).transmit(300, settings) == numbers(300));
  const auto counters = Faults::counters();
  CHECK(counters.dropped == 0);
  CHECK(counters.duplicated == 0);
  CHECK(counters.reordered == 0);
}

TEST_CASE("forced RNR delays an RC sender and uses up its retries", "[fault]") {
  const Device device;
  {
    const Pair pair(device, of_type(IBV_QPT_RC));
    rkv_soft_faults settings{};
    settings.seed = 5;
    settings.rnr_probability = 0.3;
    const Faults faults(settings);
    CHECK(Stream(pair).transmit(100, settings) == numbers(100));
    CHECK(Faults::counters().forced_rnr > 5);
  }
  EndpointOptions options = of_type(IBV_QPT_RC);
  options.rnr_retry = 2;
  const Pair pair(device, options);
  rkv_soft_faults settings{};
  settings.rnr_probability = 1;
  const Faults faults(settings);
  pair.b.post_recv(0, 64, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
  CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_RNR_RETRY_EXC_ERR);
  CHECK(Faults::counters().forced_rnr == 3);
  require_empty(pair.b.recv_cq());
}

TEST_CASE("delayed messages arrive, in order and all of them", "[fault]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    rkv_soft_faults settings{};
    settings.delay_ns = 50'000;
    const Faults faults(settings);
    for (std::uint64_t id = 0; id < 20; ++id) pair.b.post_recv(0, 128, id);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 0; id < 20; ++id)
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id)));
    for (std::uint64_t id = 0; id < 20; ++id) {
      CHECK(wait_success(pair.a.send_cq()).wr_id == id);
      CHECK(wait_success(pair.b.recv_cq()).wr_id == id);
    }
    CHECK(Faults::counters().delayed == 20);
  }
}

TEST_CASE("settings that are no probabilities are refused and change nothing", "[fault]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UD));
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    for (const auto member : {&rkv_soft_faults::drop_probability, &rkv_soft_faults::duplicate_probability,
                              &rkv_soft_faults::reorder_probability, &rkv_soft_faults::rnr_probability}) {
      rkv_soft_faults settings{};
      settings.drop_probability = 1;
      settings.*member = bad;
      CHECK(rkv_soft_set_faults(&settings) == EINVAL);
    }
  }
  pair.require_alive();
}

}  // namespace rkv::verbs_test
