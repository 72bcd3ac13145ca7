// Known answers of each opcode on each transport, and the refusals: the opcode table of ibv_post_send(3).
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

constexpr std::array kTypes{IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

// A buffer content in which every byte tells its position.
void fill_pattern(const Buffer& buffer, unsigned seed) {
  for (std::size_t i = 0; i < buffer.size(); ++i)
    buffer.data()[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) & 0xff);
}

bool same(const Buffer& left, std::size_t left_offset, const Buffer& right, std::size_t right_offset,
          std::size_t length) {
  return std::memcmp(left.data() + left_offset, right.data() + right_offset, length) == 0;
}

bool all_bytes(const Buffer& buffer, std::size_t offset, std::size_t length, std::uint8_t value) {
  const auto part = buffer.bytes().subspan(offset, length);
  return std::all_of(part.begin(), part.end(), [&](std::byte b) { return b == std::byte{value}; });
}

std::size_t header_bytes(ibv_qp_type type) {
  return type == IBV_QPT_UD ? kGrhBytes : 0;
}

EndpointOptions of_type(ibv_qp_type type) {
  EndpointOptions options;
  options.type = type;
  return options;
}

std::uint64_t load_u64(const Buffer& buffer, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, buffer.data() + offset, sizeof value);
  return value;
}
void store_u64(const Buffer& buffer, std::size_t offset, std::uint64_t value) {
  std::memcpy(buffer.data() + offset, &value, sizeof value);
}

}  // namespace

TEST_CASE("SEND carries messages of every size, and touches nothing beside them", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    const std::size_t header = header_bytes(type);
    const Pair pair(device, of_type(type));
    fill_pattern(pair.a.buffer, 1);
    for (const std::size_t length :
         {0UL, 1UL, 7UL, 8UL, 63UL, 64UL, 65UL, 352UL, 1023UL, 1024UL, 1025UL, 4096UL, 40000UL}) {
      if (type == IBV_QPT_UD && length > 1024) continue;
      INFO(type_name(type) << " " << length << " bytes");
      pair.b.buffer.fill(0xEE);
      pair.b.post_recv(100, header + length, 7);
      ibv_sge sge = pair.a.buffer.sge(33, length);
      pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 9)));

      const ibv_wc sent = wait_success(pair.a.send_cq());
      CHECK(sent.wr_id == 9);
      CHECK(sent.opcode == IBV_WC_SEND);
      CHECK(sent.qp_num == pair.a.number());
      const ibv_wc received = wait_success(pair.b.recv_cq());
      CHECK(received.wr_id == 7);
      CHECK(received.opcode == IBV_WC_RECV);
      CHECK(received.byte_len == header + length);
      CHECK(received.qp_num == pair.b.number());
      CHECK((received.wc_flags & IBV_WC_WITH_IMM) == 0);
      CHECK(same(pair.b.buffer, 100 + header, pair.a.buffer, 33, length));
      CHECK(all_bytes(pair.b.buffer, 0, 100, 0xEE));
      CHECK(all_bytes(pair.b.buffer, 100 + header + length, 1000, 0xEE));
    }
  }
}

TEST_CASE("a message may be shorter than the receive it lands in", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    const std::size_t header = header_bytes(type);
    const Pair pair(device, of_type(type));
    fill_pattern(pair.a.buffer, 2);
    pair.b.buffer.fill(0xEE);
    pair.b.post_recv(0, 500);
    ibv_sge sge = pair.a.buffer.sge(0, 10);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
    wait_success(pair.a.send_cq());
    CHECK(wait_success(pair.b.recv_cq()).byte_len == header + 10);
    CHECK(same(pair.b.buffer, header, pair.a.buffer, 0, 10));
    CHECK(all_bytes(pair.b.buffer, header + 10, 600, 0xEE));
  }
}

TEST_CASE("a work request without any SGE is a message of no bytes", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    if (type == IBV_QPT_UD) {
      pair.b.post_recv(0, kGrhBytes);
    } else {
      REQUIRE(pair.b.try_post_recv({}) == 0);
    }
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {})));
    wait_success(pair.a.send_cq());
    CHECK(wait_success(pair.b.recv_cq()).byte_len == header_bytes(type));
  }
}

TEST_CASE("SEND_WITH_IMM delivers the immediate in network byte order", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    const Pair pair(device, of_type(type));
    for (const std::size_t length : {16UL, 3000UL}) {
      if (type == IBV_QPT_UD && length > 1024) continue;
      INFO(type_name(type) << " " << length << " bytes");
      pair.b.post_recv(0, 4096);
      ibv_sge sge = pair.a.buffer.sge(0, length);
      ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}));
      wr.imm_data = htonl(0xC0FFEE42);
      pair.a.post(wr);
      CHECK(wait_success(pair.a.send_cq()).opcode == IBV_WC_SEND);
      const ibv_wc received = wait_success(pair.b.recv_cq());
      CHECK(received.opcode == IBV_WC_RECV);
      CHECK((received.wc_flags & IBV_WC_WITH_IMM) != 0);
      CHECK(ntohl(received.imm_data) == 0xC0FFEE42);
    }
  }
}

TEST_CASE("RDMA WRITE puts bytes where it says and takes no receive", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    const Pair pair(device, of_type(type));
    fill_pattern(pair.a.buffer, 3);
    for (const std::size_t length : {0UL, 1UL, 3UL, 8UL, 100UL, 1024UL, 1025UL, 30000UL}) {
      INFO(type_name(type) << " " << length << " bytes");
      pair.b.buffer.fill(0xEE);
      ibv_sge sge = pair.a.buffer.sge(5, length);
      pair.a.post(
          remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(77), pair.b.buffer.rkey(), 4));
      const ibv_wc wc = wait_success(pair.a.send_cq());
      CHECK(wc.opcode == IBV_WC_RDMA_WRITE);
      CHECK(wc.wr_id == 4);
      pair.require_alive();  // UC: its completion alone does not tell that the data arrived
      CHECK(same(pair.b.buffer, 77, pair.a.buffer, 5, length));
      CHECK(all_bytes(pair.b.buffer, 0, 77, 0xEE));
      CHECK(all_bytes(pair.b.buffer, 77 + length, 500, 0xEE));
    }
  }
}

TEST_CASE("RDMA WRITE with immediate takes a receive, tells its length and leaves the receive's buffer alone",
          "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    fill_pattern(pair.a.buffer, 4);
    pair.b.buffer.fill(0xEE);
    pair.b.post_recv(0, 64, 21);
    REQUIRE(pair.b.try_post_recv({}, 22) == 0);  // needs no buffer at all
    for (const auto& [id, length] : {std::pair{21UL, 300UL}, std::pair{22UL, 3000UL}}) {
      ibv_sge sge = pair.a.buffer.sge(0, length);
      ibv_send_wr wr = remote_work(IBV_WR_RDMA_WRITE_WITH_IMM, {&sge, 1}, pair.b.buffer.address(5000),
                                   pair.b.buffer.rkey());
      wr.imm_data = htonl(0xABCD);
      pair.a.post(wr);
      CHECK(wait_success(pair.a.send_cq()).opcode == IBV_WC_RDMA_WRITE);
      const ibv_wc received = wait_success(pair.b.recv_cq());
      CHECK(received.wr_id == id);
      CHECK(received.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
      CHECK(received.byte_len == length);
      CHECK((received.wc_flags & IBV_WC_WITH_IMM) != 0);
      CHECK(ntohl(received.imm_data) == 0xABCD);
    }
    CHECK(same(pair.b.buffer, 5000, pair.a.buffer, 0, 3000));
    CHECK(all_bytes(pair.b.buffer, 0, 5000, 0xEE));
  }
}

TEST_CASE("RDMA READ fetches bytes from where it says", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  fill_pattern(pair.b.buffer, 5);
  for (const std::size_t length : {0UL, 1UL, 8UL, 1000UL, 1025UL, 30000UL}) {
    INFO(length << " bytes");
    pair.a.buffer.fill(0xEE);
    ibv_sge sge = pair.a.buffer.sge(13, length);
    pair.a.post(
        remote_work(IBV_WR_RDMA_READ, {&sge, 1}, pair.b.buffer.address(999), pair.b.buffer.rkey(), 6));
    const ibv_wc wc = wait_success(pair.a.send_cq());
    CHECK(wc.opcode == IBV_WC_RDMA_READ);
    CHECK(wc.wr_id == 6);
    CHECK(wc.byte_len == length);
    CHECK(same(pair.a.buffer, 13, pair.b.buffer, 999, length));
    CHECK(all_bytes(pair.a.buffer, 0, 13, 0xEE));
    CHECK(all_bytes(pair.a.buffer, 13 + length, 500, 0xEE));
  }
}

TEST_CASE("COMPARE AND SWAP swaps only what compares equal and returns what was there", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  ibv_sge sge = pair.a.buffer.sge(64, 8);
  store_u64(pair.b.buffer, 128, 5);
  pair.a.post(atomic_work(IBV_WR_ATOMIC_CMP_AND_SWP, {&sge, 1}, pair.b.buffer.address(128),
                          pair.b.buffer.rkey(), 5, 9));
  ibv_wc wc = wait_success(pair.a.send_cq());
  CHECK(wc.opcode == IBV_WC_COMP_SWAP);
  CHECK(wc.byte_len == 8);
  CHECK(load_u64(pair.a.buffer, 64) == 5);
  CHECK(load_u64(pair.b.buffer, 128) == 9);
  pair.a.post(atomic_work(IBV_WR_ATOMIC_CMP_AND_SWP, {&sge, 1}, pair.b.buffer.address(128),
                          pair.b.buffer.rkey(), 5, 1));
  wait_success(pair.a.send_cq());
  CHECK(load_u64(pair.a.buffer, 64) == 9);
  CHECK(load_u64(pair.b.buffer, 128) == 9);
}

TEST_CASE("FETCH AND ADD adds modulo 2^64 and returns what was there", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  store_u64(pair.b.buffer, 0, ~0ULL - 1);
  pair.a.post(atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, {&sge, 1}, pair.b.buffer.address(),
                          pair.b.buffer.rkey(), 5, 0));
  CHECK(wait_success(pair.a.send_cq()).opcode == IBV_WC_FETCH_ADD);
  CHECK(load_u64(pair.a.buffer, 0) == ~0ULL - 1);
  CHECK(load_u64(pair.b.buffer, 0) == 3);
}

TEST_CASE("the result of an atomic may be scattered over several SGEs", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  store_u64(pair.b.buffer, 0, 0x0807060504030201ULL);
  std::array sges{pair.a.buffer.sge(0, 3), pair.a.buffer.sge(100, 5)};
  pair.a.post(
      atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, sges, pair.b.buffer.address(), pair.b.buffer.rkey(), 0, 0));
  wait_success(pair.a.send_cq());
  CHECK(pair.a.buffer.data()[2] == std::byte{3});
  CHECK(pair.a.buffer.data()[100] == std::byte{4});
  CHECK(pair.a.buffer.data()[104] == std::byte{8});
}

TEST_CASE("an opcode that the transport lacks is refused when it is posted", "[transfer]") {
  const Device device;
  struct Refusal {
    ibv_qp_type type;
    ibv_wr_opcode opcode;
  };
  const std::array refusals{Refusal{IBV_QPT_UC, IBV_WR_RDMA_READ},
                            Refusal{IBV_QPT_UC, IBV_WR_ATOMIC_CMP_AND_SWP},
                            Refusal{IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD},
                            Refusal{IBV_QPT_UD, IBV_WR_RDMA_WRITE},
                            Refusal{IBV_QPT_UD, IBV_WR_RDMA_WRITE_WITH_IMM},
                            Refusal{IBV_QPT_UD, IBV_WR_RDMA_READ},
                            Refusal{IBV_QPT_UD, IBV_WR_ATOMIC_CMP_AND_SWP},
                            Refusal{IBV_QPT_UD, IBV_WR_ATOMIC_FETCH_AND_ADD},
                            Refusal{IBV_QPT_UD, IBV_WR_SEND_WITH_INV},
                            Refusal{IBV_QPT_RC, IBV_WR_DRIVER1},
                            Refusal{IBV_QPT_RC, IBV_WR_TSO}};
  for (const Refusal& refusal : refusals) {
    INFO(type_name(refusal.type) << " opcode " << refusal.opcode);
    const Pair pair(device, of_type(refusal.type));
    pair.b.buffer.fill(0xEE);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    // The union's remote_addr and the UD address overlap, so a UD request gets a proper address only.
    const ibv_send_wr wr =
        refusal.type == IBV_QPT_UD
            ? pair.to_peer(pair.a, work(refusal.opcode, {&sge, 1}))
            : atomic_work(refusal.opcode, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), 0, 0);
    const int error = pair.a.try_post(wr);
    CHECK((error == EINVAL || error == EOPNOTSUPP));
    CHECK(state_of(pair.a.qp()) == IBV_QPS_RTS);
    pair.require_alive();
    CHECK(all_bytes(pair.b.buffer, 0, 64, 0xEE));
  }
}

TEST_CASE("a list of work requests is taken up to the first bad one", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  for (std::uint64_t id = 0; id < 4; ++id) pair.b.post_recv(0, 64, id);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  std::array<ibv_send_wr, 4> list;
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = work(IBV_WR_SEND, {&sge, 1}, i);
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  list[2].opcode = IBV_WR_DRIVER1;
  ibv_send_wr* bad = nullptr;
  CHECK(ibv_post_send(pair.a.qp(), list.data(), &bad) != 0);
  CHECK(bad == &list[2]);
  for (std::uint64_t id = 0; id < 2; ++id) {
    CHECK(wait_success(pair.a.send_cq()).wr_id == id);
    CHECK(wait_success(pair.b.recv_cq()).wr_id == id);
  }
  require_empty(pair.a.send_cq());
  require_empty(pair.b.recv_cq());
}

TEST_CASE("data is gathered from and scattered to many SGEs, empty ones too", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options = of_type(type);
    const auto many = static_cast<std::uint32_t>(std::min(device.limits.max_sge, 16));
    REQUIRE(many >= 8);
    options.max_sge = many;
    const Pair pair(device, options);
    fill_pattern(pair.a.buffer, 6);
    pair.b.buffer.fill(0xEE);
    // Gather pieces of 0, 10, 20, .. bytes from scattered places; scatter them into pieces of other sizes.
    std::vector<ibv_sge> gather, scatter;
    std::vector<std::byte> expected;
    for (std::size_t i = 0; i < many; ++i) {
      gather.push_back(pair.a.buffer.sge(i * 500, i == 3 ? 0 : 1 + i * 5));
      expected.insert(expected.end(), pair.a.buffer.data() + i * 500,
                      pair.a.buffer.data() + i * 500 + gather.back().length);
    }
    if (type == IBV_QPT_UD) scatter.push_back(pair.b.buffer.sge(60000, kGrhBytes));
    std::size_t room = 0;
    while (scatter.size() < many) {
      const std::size_t i = scatter.size();
      const std::size_t length = i + 1 == many ? expected.size() - room : i == 2 ? 0 : 17;
      scatter.push_back(pair.b.buffer.sge(i * 1000, length));
      room += length;
    }
    REQUIRE(pair.b.try_post_recv(scatter) == 0);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, gather)));
    wait_success(pair.a.send_cq());
    CHECK(wait_success(pair.b.recv_cq()).byte_len == header_bytes(type) + expected.size());
    std::vector<std::byte> arrived;
    for (std::size_t i = type == IBV_QPT_UD ? 1 : 0; i < scatter.size(); ++i) {
      const auto* piece = reinterpret_cast<const std::byte*>(scatter[i].addr);
      arrived.insert(arrived.end(), piece, piece + scatter[i].length);
      CHECK(piece[scatter[i].length] == std::byte{0xEE});
    }
    CHECK(arrived == expected);
  }
}

TEST_CASE("RDMA READ scatters and RDMA WRITE gathers", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  fill_pattern(pair.b.buffer, 7);
  std::array pieces{pair.a.buffer.sge(0, 5), pair.a.buffer.sge(100, 0), pair.a.buffer.sge(200, 11)};
  pair.a.post(remote_work(IBV_WR_RDMA_READ, pieces, pair.b.buffer.address(50), pair.b.buffer.rkey()));
  wait_success(pair.a.send_cq());
  CHECK(same(pair.a.buffer, 0, pair.b.buffer, 50, 5));
  CHECK(same(pair.a.buffer, 200, pair.b.buffer, 55, 11));
  pair.a.post(remote_work(IBV_WR_RDMA_WRITE, pieces, pair.b.buffer.address(9000), pair.b.buffer.rkey()));
  wait_success(pair.a.send_cq());
  CHECK(same(pair.b.buffer, 9000, pair.b.buffer, 50, 16));
}

TEST_CASE("too many SGEs are refused", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  std::vector<ibv_sge> send(pair.a.cap.max_send_sge + 1, pair.a.buffer.sge(0, 1));
  CHECK(pair.a.try_post(work(IBV_WR_SEND, send)) == EINVAL);
  std::vector<ibv_sge> receive(pair.b.cap.max_recv_sge + 1, pair.b.buffer.sge(0, 1));
  CHECK(pair.b.try_post_recv(receive) == EINVAL);
  pair.require_alive();
}

TEST_CASE("inline data is taken at once, from any memory", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    const std::size_t header = header_bytes(type);
    EndpointOptions options = of_type(type);
    const Pair pair(device, options);
    std::array<std::byte, 48> unregistered{};
    // Posted before the receive exists on RC, so that the data cannot have left yet when the buffer is
    // reused.
    if (type != IBV_QPT_RC) pair.b.post_recv(0, 200);
    unregistered.fill(std::byte{0x31});
    std::array sges{ibv_sge{reinterpret_cast<std::uintptr_t>(unregistered.data()), 8, 0xdeadbeef},
                    ibv_sge{reinterpret_cast<std::uintptr_t>(unregistered.data()) + 8, 40, 0}};
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, sges, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE)));
    unregistered.fill(std::byte{0x99});
    if (type == IBV_QPT_RC) pair.b.post_recv(0, 200);
    wait_success(pair.a.send_cq());
    CHECK(wait_success(pair.b.recv_cq()).byte_len == header + 48);
    CHECK(all_bytes(pair.b.buffer, header, 48, 0x31));
  }
}

TEST_CASE("RDMA WRITE takes inline data too", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    const Pair pair(device, of_type(type));
    std::array<std::byte, 20> unregistered{};
    unregistered.fill(std::byte{0x42});
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(unregistered.data()), 20, 0};
    pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(), 1,
                            IBV_SEND_SIGNALED | IBV_SEND_INLINE));
    unregistered.fill(std::byte{0});
    wait_success(pair.a.send_cq());
    pair.require_alive();
    CHECK(all_bytes(pair.b.buffer, 0, 20, 0x42));
  }
}

TEST_CASE("inline data up to the granted limit is taken, a byte more is refused", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  const std::uint32_t limit = pair.a.cap.max_inline_data;
  REQUIRE(limit >= 64);
  fill_pattern(pair.a.buffer, 8);
  pair.b.post_recv(0, limit);
  ibv_sge sge{pair.a.buffer.address(), limit, 0};
  pair.a.post(work(IBV_WR_SEND, {&sge, 1}, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE));
  wait_success(pair.a.send_cq());
  wait_success(pair.b.recv_cq());
  CHECK(same(pair.b.buffer, 0, pair.a.buffer, 0, limit));
  sge.length = limit + 1;
  const int error = pair.a.try_post(work(IBV_WR_SEND, {&sge, 1}, 2, IBV_SEND_SIGNALED | IBV_SEND_INLINE));
  CHECK((error == EINVAL || error == ENOMEM));
  pair.require_alive();
}

TEST_CASE("RDMA READ cannot be inline", "[transfer]") {
  const Device device;
  const Pair pair(device, of_type(IBV_QPT_RC));
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  CHECK(pair.a.try_post(remote_work(IBV_WR_RDMA_READ, {&sge, 1}, pair.b.buffer.address(),
                                    pair.b.buffer.rkey(), 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE)) != 0);
}

TEST_CASE("only signalled work requests complete, and in order", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    const Pair pair(device, of_type(type));
    for (std::uint64_t id = 0; id < 9; ++id) pair.b.post_recv(0, 64, id);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    for (std::uint64_t id = 0; id < 9; ++id)
      pair.a.post(
          pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, id, id % 3 == 2 ? IBV_SEND_SIGNALED : 0)));
    for (const std::uint64_t id : {2UL, 5UL, 8UL}) CHECK(wait_success(pair.a.send_cq()).wr_id == id);
    for (std::uint64_t id = 0; id < 9; ++id) CHECK(wait_success(pair.b.recv_cq()).wr_id == id);
    require_empty(pair.a.send_cq());
  }
}

TEST_CASE("with sq_sig_all every work request completes", "[transfer]") {
  const Device device;
  for (const ibv_qp_type type : kTypes) {
    INFO(type_name(type));
    EndpointOptions options = of_type(type);
    options.sq_sig_all = true;
    const Pair pair(device, options);
    pair.b.post_recv(0, 64, 1);
    ibv_sge sge = pair.a.buffer.sge(0, 8);
    pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 5, 0)));
    CHECK(wait_success(pair.a.send_cq()).wr_id == 5);
  }
}

TEST_CASE("the send queue goes on for ever with one signalled work request in every queue length",
          "[transfer]") {
  const Device device;
  EndpointOptions options = of_type(IBV_QPT_RC);
  options.max_send_wr = 8;
  const Pair pair(device, options);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  for (std::uint64_t round = 0; round < 100; ++round) {
    for (std::uint64_t i = 0; i < 8; ++i)
      pair.a.post(remote_work(IBV_WR_RDMA_WRITE, {&sge, 1}, pair.b.buffer.address(), pair.b.buffer.rkey(),
                              round, i == 7 ? IBV_SEND_SIGNALED : 0));
    CHECK(wait_success(pair.a.send_cq()).wr_id == round);
  }
}

TEST_CASE("a full send queue refuses with ENOMEM and names the work request it refused", "[transfer]") {
  const Device device;
  EndpointOptions options = of_type(IBV_QPT_RC);
  options.max_send_wr = 8;
  const Pair pair(device, options);
  const std::uint32_t room = pair.a.cap.max_send_wr;
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  // No receive is posted, so all of them stay outstanding.
  std::vector<ibv_send_wr> list(room + 1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = work(IBV_WR_SEND, {&sge, 1}, i);
    list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  CHECK(ibv_post_send(pair.a.qp(), list.data(), &bad) == ENOMEM);
  CHECK(bad == &list[room]);
  for (std::uint64_t id = 0; id < room; ++id) {
    pair.b.post_recv(0, 64, id);
    CHECK(wait_success(pair.a.send_cq()).wr_id == id);
    CHECK(wait_success(pair.b.recv_cq()).wr_id == id);
  }
  pair.require_alive();
}

TEST_CASE("a full receive queue refuses with ENOMEM and names the work request it refused", "[transfer]") {
  const Device device;
  EndpointOptions options = of_type(IBV_QPT_RC);
  options.max_recv_wr = 8;
  const Pair pair(device, options);
  const std::uint32_t room = pair.b.cap.max_recv_wr;
  ibv_sge sge = pair.b.buffer.sge(0, 8);
  std::vector<ibv_recv_wr> list(room + 1);
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = {i, i + 1 < list.size() ? &list[i + 1] : nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  CHECK(ibv_post_recv(pair.b.qp(), list.data(), &bad) == ENOMEM);
  CHECK(bad == &list[room]);
}

TEST_CASE("a queue pair may be connected to itself", "[transfer]") {
  const Device device;
  const Endpoint endpoint(device);
  endpoint.ready(endpoint.number());
  fill_pattern(endpoint.buffer, 9);
  endpoint.post_recv(30000, 100, 1);
  ibv_sge sge = endpoint.buffer.sge(0, 100);
  endpoint.post(work(IBV_WR_SEND, {&sge, 1}, 2));
  wait_success(endpoint.send_cq());
  wait_success(endpoint.recv_cq());
  CHECK(same(endpoint.buffer, 30000, endpoint.buffer, 0, 100));
}

}  // namespace rkv::verbs_test
