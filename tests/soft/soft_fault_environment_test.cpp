// Faults set by the environment: ctest runs this with RKV_SOFT_DROP=1.
#include "backends/verbs/soft/fault.h"
#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {

TEST_CASE("RKV_SOFT_DROP=1 in the environment drops every datagram", "[fault]") {
  const char* const drop = std::getenv("RKV_SOFT_DROP");
  REQUIRE(drop != nullptr);
  REQUIRE(drop == std::string("1"));
  const Device device;
  EndpointOptions options;
  options.type = IBV_QPT_UD;
  const Pair pair(device, options);
  pair.b.post_recv(0, 128);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  rkv_soft_fault_counters counters{};
  rkv_soft_get_fault_counters(&counters);
  CHECK(counters.dropped == 1);
  REQUIRE(rkv_soft_set_faults(nullptr) == 0);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  wait_success(pair.b.recv_cq());
}

}  // namespace rkv::verbs_test
