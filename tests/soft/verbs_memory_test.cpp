// Memory regions: bounds, access flags at both ends, protection domains, keys that are no longer valid. What
// a responder must answer is InfiniBand vol. 1, 9.9.3 (responder errors) and 11.6.2 (completion status).
#include <array>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::uint8_t kUntouched = 0xEE;

void require_untouched(const Buffer& buffer) {
  for (const std::byte b : buffer.bytes()) REQUIRE(b == std::byte{kUntouched});
}

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  return options;
}

// One-sided work on `target`, an address and key of b's side, from a fresh pair; the completion that a gets.
struct Attempt {
  ibv_wr_opcode opcode;
  std::uint64_t address;
  std::uint32_t rkey;
  std::size_t length = 8;
};

ibv_wc attempt(const Pair& pair, const Attempt& what) {
  ibv_sge sge = pair.a.buffer.sge(0, what.length);
  const bool atomic = what.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || what.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  pair.a.post(atomic ? atomic_work(what.opcode, {&sge, 1}, what.address, what.rkey, 1, 1)
                     : remote_work(what.opcode, {&sge, 1}, what.address, what.rkey));
  return wait_completion(pair.a.send_cq());
}

constexpr std::array kOneSided{IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
                               IBV_WR_ATOMIC_FETCH_AND_ADD};

int needed_access(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE  ? IBV_ACCESS_REMOTE_WRITE
         : opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ
                                      : IBV_ACCESS_REMOTE_ATOMIC;
}

}  // namespace

TEST_CASE("a region can be reached at its first and its last byte", "[memory]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  const Buffer target(device.pd(), 4096);
  for (const ibv_wr_opcode opcode : kOneSided) {
    INFO("opcode " << opcode);
    CHECK(attempt(pair, {opcode, target.address(), target.rkey()}).status == IBV_WC_SUCCESS);
    CHECK(attempt(pair, {opcode, target.address(4096 - 8), target.rkey()}).status == IBV_WC_SUCCESS);
  }
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, target.address(), target.rkey(), 4096}).status == IBV_WC_SUCCESS);
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, target.address(4095), target.rkey(), 1}).status == IBV_WC_SUCCESS);
}

TEST_CASE("a remote access that leaves the region at either end is an access error and moves no byte",
          "[memory]") {
  const Device device;
  const std::array outside{std::pair{-1L, 8UL},   std::pair{-8L, 8UL},     std::pair{4096 - 7L, 8UL},
                           std::pair{4096L, 1UL}, std::pair{4096L, 8UL},   std::pair{0L, 4097UL},
                           std::pair{4095L, 2UL}, std::pair{1L << 40, 8UL}};
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    for (const auto& [offset, length] : outside) {
      INFO("opcode " << opcode << ", offset " << offset << ", " << length << " bytes");
      const Pair pair(device, of_type(IBV_QPT_RC));
      // The region lies in the middle of a buffer of ours, so that a byte out of place is seen and harms
      // nobody.
      const Buffer around(device.pd(), 3 * 4096, 0);
      around.fill(kUntouched);
      pair.a.buffer.fill(opcode == IBV_WR_RDMA_READ ? kUntouched : 0x11);
      const MrPtr region(ibv_reg_mr(device.pd(), around.data() + 4096, 4096, kAllAccess));
      REQUIRE(region);
      const std::uint64_t address = around.address(4096) + static_cast<std::uint64_t>(offset);
      CHECK(attempt(pair, {opcode, address, region->rkey, length}).status == IBV_WC_REM_ACCESS_ERR);
      require_untouched(around);
      if (opcode == IBV_WR_RDMA_READ) require_untouched(pair.a.buffer);
      require_state(pair.a.qp(), IBV_QPS_ERR);
      require_state(pair.b.qp(), IBV_QPS_ERR);
    }
  }
}

TEST_CASE("an address range that wraps around is an access error", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    const Pair pair(device, of_type(IBV_QPT_RC));
    CHECK(attempt(pair, {opcode, ~0ULL - 3, pair.b.buffer.rkey(), 64}).status == IBV_WC_REM_ACCESS_ERR);
  }
  const Pair pair(device, of_type(IBV_QPT_RC));
  CHECK(attempt(pair, {IBV_WR_ATOMIC_FETCH_AND_ADD, ~0ULL - 7, pair.b.buffer.rkey()}).status ==
        IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("an atomic that is not aligned to 8 bytes is an invalid request", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    for (const std::size_t offset : {1UL, 4UL, 7UL}) {
      const Pair pair(device, of_type(IBV_QPT_RC));
      pair.b.buffer.fill(kUntouched);
      CHECK(attempt(pair, {opcode, pair.b.buffer.address(offset), pair.b.buffer.rkey()}).status ==
            IBV_WC_REM_INV_REQ_ERR);
      require_untouched(pair.b.buffer);
    }
  }
}

TEST_CASE("an atomic works on 8 bytes and no other length", "[memory]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  pair.b.buffer.fill(kUntouched);
  ibv_sge sge = pair.a.buffer.sge(0, 4);
  const ibv_send_wr wr = atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, {&sge, 1}, pair.b.buffer.address(),
                                     pair.b.buffer.rkey(), 1, 0);
  if (pair.a.try_post(wr) == 0) CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_LOC_LEN_ERR);
  require_untouched(pair.b.buffer);
}

TEST_CASE("each one-sided opcode needs its own access flag of the region", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : kOneSided) {
    INFO("opcode " << opcode);
    const Pair pair(device, of_type(IBV_QPT_RC));
    const Buffer allowed(device.pd(), 64, IBV_ACCESS_LOCAL_WRITE | needed_access(opcode));
    CHECK(attempt(pair, {opcode, allowed.address(), allowed.rkey()}).status == IBV_WC_SUCCESS);
    const Buffer forbidden(device.pd(), 64, kAllAccess & ~needed_access(opcode));
    forbidden.fill(kUntouched);
    CHECK(attempt(pair, {opcode, forbidden.address(), forbidden.rkey()}).status == IBV_WC_REM_ACCESS_ERR);
    require_untouched(forbidden);
  }
}

TEST_CASE("each one-sided opcode must be enabled at the responder's queue pair", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : kOneSided) {
    INFO("opcode " << opcode);
    EndpointOptions enabled;
    enabled.access = needed_access(opcode);
    const Pair willing(device, EndpointOptions{}, enabled);
    CHECK(attempt(willing, {opcode, willing.b.buffer.address(), willing.b.buffer.rkey()}).status ==
          IBV_WC_SUCCESS);
    EndpointOptions disabled;
    disabled.access = kAllRemote & ~needed_access(opcode);
    const Pair unwilling(device, EndpointOptions{}, disabled);
    unwilling.b.buffer.fill(kUntouched);
    // "the operation is not supported by this receive queue" (11.6.2); some devices call it an access error.
    const ibv_wc_status status =
        attempt(unwilling, {opcode, unwilling.b.buffer.address(), unwilling.b.buffer.rkey()}).status;
    CHECK((status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR));
    require_untouched(unwilling.b.buffer);
  }
}

TEST_CASE("a region of another protection domain cannot be reached", "[memory]") {
  const Device device;
  const PdPtr other(ibv_alloc_pd(device.context()));
  REQUIRE(other);
  for (const ibv_wr_opcode opcode : kOneSided) {
    INFO("opcode " << opcode);
    const Pair pair(device, of_type(IBV_QPT_RC));
    const Buffer foreign(other.get(), 64);
    foreign.fill(kUntouched);
    CHECK(attempt(pair, {opcode, foreign.address(), foreign.rkey()}).status == IBV_WC_REM_ACCESS_ERR);
    require_untouched(foreign);
  }
}

TEST_CASE("keys are worth nothing once the region is deregistered", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : kOneSided) {
    const Pair pair(device, of_type(IBV_QPT_RC));
    Buffer target(device.pd(), 64);
    target.fill(kUntouched);
    const std::uint32_t rkey = target.rkey();
    target.release();
    // Regions registered since must not inherit the key at once either.
    const Buffer newer(device.pd(), 64);
    CHECK(newer.rkey() != rkey);
    CHECK(attempt(pair, {opcode, target.address(), rkey}).status == IBV_WC_REM_ACCESS_ERR);
    require_untouched(target);
  }
  const Pair pair(device, of_type(IBV_QPT_RC));
  Buffer source(device.pd(), 64);
  ibv_sge sge = source.sge(0, 8);
  source.release();
  pair.b.post_recv(0, 64);
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
  CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("no bytes can be moved anywhere: the key is not looked at", "[memory]") {
  const Device device;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    const Pair pair(device, of_type(IBV_QPT_RC));
    pair.a.post(remote_work(opcode, {}, 0x1234, 0xdead));
    wait_success(pair.a.send_cq());
    pair.require_alive();
  }
}

TEST_CASE("a bad local key or range is a local protection error at the sender only", "[memory]") {
  const Device device;
  const PdPtr other(ibv_alloc_pd(device.context()));
  REQUIRE(other);
  const Buffer foreign(other.get(), 4096);
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    for (int which = 0; which < 4; ++which) {
      INFO(type_name(type) << " case " << which);
      const Pair pair(device, of_type(type));
      const Buffer& buffer = pair.a.buffer;
      const std::array<ibv_sge, 4> bad{ibv_sge{buffer.address(), 8, buffer.lkey() ^ 0x6b6b6b00U},
                                       ibv_sge{buffer.address() - 1, 8, buffer.lkey()},
                                       ibv_sge{buffer.address(buffer.size() - 7), 8, buffer.lkey()},
                                       foreign.sge(0, 8)};
      ibv_sge sges[2] = {buffer.sge(0, 4), bad[static_cast<std::size_t>(which)]};
      pair.b.buffer.fill(kUntouched);
      pair.b.post_recv(0, 256, 1);
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, sges, 5)));
      const ibv_wc wc = wait_completion(pair.a.send_cq());
      CHECK(wc.wr_id == 5);
      CHECK(wc.status == IBV_WC_LOC_PROT_ERR);
      CHECK(wc.qp_num == pair.a.number());
      require_empty(pair.b.recv_cq());
      require_untouched(pair.b.buffer);
      CHECK(state_of(pair.b.qp()) == IBV_QPS_RTS);
    }
  }
}

TEST_CASE("data may be sent out of a region without any access flag but not received into it", "[memory]") {
  const Device device;
  const Buffer read_only(device.pd(), 64, 0);
  {
    const Pair pair(device, of_type(IBV_QPT_RC));
    pair.b.post_recv(0, 64);
    ibv_sge sge = read_only.sge(0, 8);
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
    wait_success(pair.a.send_cq());
    wait_success(pair.b.recv_cq());
  }
  {
    const Pair pair(device, of_type(IBV_QPT_RC));
    read_only.fill(kUntouched);
    ibv_sge into = read_only.sge(0, 64);
    REQUIRE(pair.b.try_post_recv({&into, 1}, 3) == 0);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_OP_ERR);
    const ibv_wc wc = wait_completion(pair.b.recv_cq());
    CHECK(wc.wr_id == 3);
    CHECK(wc.status == IBV_WC_LOC_PROT_ERR);
    require_untouched(read_only);
  }
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    const Pair pair(device, of_type(IBV_QPT_RC));
    ibv_sge into = read_only.sge(0, 8);
    pair.a.post(atomic_work(opcode, {&into, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), 0, 0));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_LOC_PROT_ERR);
    require_untouched(read_only);
  }
}

TEST_CASE("a receive whose buffer is not valid fails at both ends of RC", "[memory]") {
  const Device device;
  const PdPtr other(ibv_alloc_pd(device.context()));
  REQUIRE(other);
  const Buffer foreign(other.get(), 4096);
  for (int which = 0; which < 3; ++which) {
    INFO("case " << which);
    const Pair pair(device, of_type(IBV_QPT_RC));
    const Buffer& buffer = pair.b.buffer;
    ibv_sge bad[3] = {{buffer.address(), 64, buffer.lkey() ^ 0x6b6b6b00U},
                      {buffer.address(buffer.size() - 4), 64, buffer.lkey()},
                      foreign.sge(0, 64)};
    REQUIRE(pair.b.try_post_recv({&bad[which], 1}, 3) == 0);
    ibv_sge sge = pair.a.buffer.sge(0, 64);
    pair.a.post(work(IBV_WR_SEND, {&sge, 1}));
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_REM_OP_ERR);
    const ibv_wc wc = wait_completion(pair.b.recv_cq());
    CHECK(wc.wr_id == 3);
    CHECK(wc.status == IBV_WC_LOC_PROT_ERR);
    require_state(pair.a.qp(), IBV_QPS_ERR);
    require_state(pair.b.qp(), IBV_QPS_ERR);
  }
}

TEST_CASE("a UC WRITE that is not allowed disappears and the connection lives on", "[memory]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_UC));
  const Buffer forbidden(device.pd(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  forbidden.fill(kUntouched);
  const std::array targets{
      Attempt{IBV_WR_RDMA_WRITE, forbidden.address(), forbidden.rkey()},
      Attempt{IBV_WR_RDMA_WRITE, pair.b.buffer.address(pair.b.buffer.size()), pair.b.buffer.rkey()},
      Attempt{IBV_WR_RDMA_WRITE, pair.b.buffer.address(), pair.b.buffer.rkey() ^ 0x6b6b6b00U}};
  for (const Attempt& what : targets) {
    pair.b.buffer.fill(kUntouched);
    CHECK(attempt(pair, what).status == IBV_WC_SUCCESS);
    pair.b.post_recv(0, 64, 2);
    pair.a.post(work(IBV_WR_SEND, {}, 2));
    wait_success(pair.a.send_cq());
    CHECK(wait_success(pair.b.recv_cq()).byte_len == 0);
    require_untouched(forbidden);
    require_untouched(pair.b.buffer);
  }
}

TEST_CASE("a region registered at another address is reached by that address", "[memory]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  const Buffer memory(device.pd(), 8192, 0);
  memory.fill(kUntouched);
  constexpr std::uint64_t kAddress = 0x7000'0000'0000;
  const MrPtr region(ibv_reg_mr_iova(device.pd(), memory.data(), 4096, kAddress, kAllAccess));
  REQUIRE(region);
  pair.a.buffer.fill(0x3C);
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, kAddress + 100, region->rkey}).status == IBV_WC_SUCCESS);
  CHECK(memory.data()[99] == std::byte{kUntouched});
  CHECK(memory.data()[100] == std::byte{0x3C});
  CHECK(memory.data()[107] == std::byte{0x3C});
  CHECK(memory.data()[108] == std::byte{kUntouched});
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, memory.address(), region->rkey}).status == IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("remote write and atomic access need local write, and unknown flags are refused", "[memory]") {
  const Device device;
  std::array<std::byte, 64> memory{};
  for (const int access :
       {static_cast<int>(IBV_ACCESS_REMOTE_WRITE), static_cast<int>(IBV_ACCESS_REMOTE_ATOMIC),
        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, 1 << 15}) {
    INFO("access " << access);
    const MrPtr region(ibv_reg_mr(device.pd(), memory.data(), memory.size(), access));
    CHECK(!region);
  }
}

TEST_CASE("a region knows its address, length, protection domain and keys", "[memory]") {
  const Device device;
  const Buffer one(device.pd(), 100);
  const Buffer two(device.pd(), 100);
  CHECK(one.mr()->addr == one.data());
  CHECK(one.mr()->length == 100);
  CHECK(one.mr()->pd == device.pd());
  CHECK(one.mr()->context == device.context());
  CHECK(one.lkey() != two.lkey());
  CHECK(one.rkey() != two.rkey());
}

TEST_CASE("overlapping regions each keep their own rights", "[memory]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  const Buffer wide(device.pd(), 4096, IBV_ACCESS_REMOTE_READ);
  const MrPtr narrow(ibv_reg_mr(device.pd(), wide.data() + 1024, 64, kAllAccess));
  REQUIRE(narrow);
  CHECK(attempt(pair, {IBV_WR_RDMA_READ, wide.address(1024), wide.rkey()}).status == IBV_WC_SUCCESS);
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, wide.address(1024), narrow->rkey}).status == IBV_WC_SUCCESS);
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, wide.address(1024), wide.rkey()}).status == IBV_WC_REM_ACCESS_ERR);
}

TEST_CASE("re-registering changes access, place and protection domain", "[memory]") {
  const Device device;
  const PdPtr other(ibv_alloc_pd(device.context()));
  REQUIRE(other);
  const Buffer memory(device.pd(), 8192, 0);
  memory.fill(kUntouched);
  const MrPtr region(ibv_reg_mr(device.pd(), memory.data(), 4096, int{IBV_ACCESS_LOCAL_WRITE}));
  REQUIRE(region);
  REQUIRE(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAllAccess) == 0);
  {
    const Pair pair(device, of_type(IBV_QPT_RC));
    CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, memory.address(), region->rkey}).status == IBV_WC_SUCCESS);
    REQUIRE(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.data() + 4096, 4096,
                         0) == 0);
    CHECK(region->addr == memory.data() + 4096);
    CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, memory.address(4096), region->rkey}).status == IBV_WC_SUCCESS);
    CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, memory.address(), region->rkey}).status == IBV_WC_REM_ACCESS_ERR);
  }
  REQUIRE(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0) == 0);
  const Pair pair(device, of_type(IBV_QPT_RC));
  CHECK(attempt(pair, {IBV_WR_RDMA_WRITE, memory.address(4096), region->rkey}).status ==
        IBV_WC_REM_ACCESS_ERR);
}

}  // namespace rkv::verbs_test
