// What only UD has: the 40 bytes of GRH space, address handles, Q_Keys, and messages of one packet.
#include <arpa/inet.h>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {
namespace {

EndpointOptions datagram() {
  EndpointOptions options;
  options.type = IBV_QPT_UD;
  return options;
}

std::size_t mtu_bytes(ibv_mtu mtu) {
  return std::size_t{128} << mtu;
}

}  // namespace

TEST_CASE("a datagram starts at byte 40 and tells who sent it", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.a.buffer.fill(0x5A);
  pair.b.buffer.fill(0xEE);
  pair.b.post_recv(0, kGrhBytes + 8, 3);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  const ibv_wc wc = wait_success(pair.b.recv_cq());
  CHECK(wc.byte_len == kGrhBytes + 8);
  CHECK(wc.src_qp == pair.a.number());
  CHECK(wc.qp_num == pair.b.number());
  CHECK((wc.wc_flags & IBV_WC_GRH) != 0);
  CHECK(pair.b.buffer.data()[kGrhBytes] == std::byte{0x5A});
  CHECK(pair.b.buffer.data()[kGrhBytes + 7] == std::byte{0x5A});
  CHECK(pair.b.buffer.data()[kGrhBytes + 8] == std::byte{0xEE});
}

TEST_CASE("a receiver can answer by the address it makes of the completion", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.b.post_recv(0, 256);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  ibv_wc wc = wait_success(pair.b.recv_cq());
  auto* grh = reinterpret_cast<ibv_grh*>(pair.b.buffer.data());
  const AhPtr back(ibv_create_ah_from_wc(device.pd(), &wc, grh, Device::kPort));
  REQUIRE(back);
  pair.a.post_recv(1000, 256, 8);
  ibv_sge answer = pair.b.buffer.sge(512, 4);
  ibv_send_wr wr = work(IBV_WR_SEND, {&answer, 1});
  wr.wr.ud.ah = back.get();
  wr.wr.ud.remote_qpn = wc.src_qp;
  wr.wr.ud.remote_qkey = kQkey;
  pair.b.post(wr);
  wait_success(pair.b.send_cq());
  CHECK(wait_success(pair.a.recv_cq()).wr_id == 8);
}

TEST_CASE("one UD queue pair speaks to many", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  const Endpoint third(device, datagram());
  third.ready(0);
  pair.b.post_recv(0, 256, 1);
  third.post_recv(0, 256, 2);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}));
  pair.a.post(wr);
  wr.wr.ud.remote_qpn = third.number();
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  wait_success(pair.a.send_cq());
  CHECK(wait_success(pair.b.recv_cq()).src_qp == pair.a.number());
  CHECK(wait_success(third.recv_cq()).src_qp == pair.a.number());
}

TEST_CASE("a datagram with another Q_Key is dropped and the sender is none the wiser", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.b.post_recv(0, 256, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}));
  wr.wr.ud.remote_qkey = kQkey + 1;
  wr.imm_data = htonl(1);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  wr.wr.ud.remote_qkey = kQkey;
  wr.imm_data = htonl(2);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(ntohl(wait_success(pair.b.recv_cq()).imm_data) == 2);  // the good one found the receive still there
  require_empty(pair.b.recv_cq());
  CHECK(state_of(pair.b.qp()) == IBV_QPS_RTS);
}

TEST_CASE("a Q_Key with its top bit set stands for the sender's own", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.b.post_recv(0, 256, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}));
  wr.wr.ud.remote_qkey = 0x80000000U;
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(wait_success(pair.b.recv_cq()).wr_id == 1);
}

TEST_CASE("a datagram to a queue pair that is not there is dropped", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  Endpoint gone(device, datagram());
  gone.ready(0);
  const std::uint32_t number = gone.number();
  gone.destroy();
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}));
  wr.wr.ud.remote_qpn = number;
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  pair.require_alive();
}

TEST_CASE("a datagram to a queue pair of another type is dropped", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  const Pair connected(device, EndpointOptions{});
  connected.a.post_recv(0, 256);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}));
  wr.wr.ud.remote_qpn = connected.a.number();
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  pair.require_alive();
  require_empty(connected.a.recv_cq());
}

TEST_CASE("a datagram that finds no receive is dropped, the next one is not", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}));
  wr.imm_data = htonl(1);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  let_everything_arrive(device);
  pair.b.post_recv(0, 256);
  wr.imm_data = htonl(2);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(ntohl(wait_success(pair.b.recv_cq()).imm_data) == 2);
  require_empty(pair.b.recv_cq());
}

TEST_CASE("a datagram may fill the MTU and must not exceed it", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  const std::size_t mtu = mtu_bytes(device.port.active_mtu);
  pair.a.buffer.fill(0x77);
  pair.b.post_recv(0, kGrhBytes + mtu, 1);
  ibv_sge sge = pair.a.buffer.sge(0, mtu);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  CHECK(wait_success(pair.b.recv_cq()).byte_len == kGrhBytes + mtu);

  // InfiniBand (C10-93.1.1) sends nothing and reports nothing; devices also refuse the post or report a
  // length error.
  pair.b.post_recv(0, kGrhBytes + mtu + 64, 2);
  sge = pair.a.buffer.sge(0, mtu + 1);
  if (pair.a.try_post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}, 2))) == 0) {
    const ibv_wc wc = wait_completion(pair.a.send_cq());
    CHECK((wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_LOC_LEN_ERR));
  }
  require_empty(pair.b.recv_cq());
}

TEST_CASE("a datagram longer than its receive never writes past it and is never reported as received",
          "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.a.buffer.fill(0x77);
  pair.b.buffer.fill(0xEE);
  pair.b.post_recv(0, kGrhBytes + 10, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 11);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1})));
  wait_success(pair.a.send_cq());
  ibv_wc wc{};
  if (ibv_poll_cq(pair.b.recv_cq(), 1, &wc) == 1) CHECK(wc.status == IBV_WC_LOC_LEN_ERR);
  for (std::size_t i = kGrhBytes + 10; i < 200; ++i) REQUIRE(pair.b.buffer.data()[i] == std::byte{0xEE});
}

TEST_CASE("a receive with less room than the GRH takes no datagram", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  pair.b.buffer.fill(0xEE);
  pair.b.post_recv(0, kGrhBytes - 1, 1);
  pair.a.post(pair.to_peer(pair.a, work(IBV_WR_SEND, {})));
  wait_success(pair.a.send_cq());
  ibv_wc wc{};
  if (ibv_poll_cq(pair.b.recv_cq(), 1, &wc) == 1) CHECK(wc.status == IBV_WC_LOC_LEN_ERR);
  for (std::size_t i = kGrhBytes - 1; i < 100; ++i) REQUIRE(pair.b.buffer.data()[i] == std::byte{0xEE});
}

TEST_CASE("an address handle wants a GRH on Ethernet, a port that exists and a GID that is there",
          "[datagram]") {
  const Device device;
  ibv_ah_attr attr = device.loopback();
  attr.port_num = 0;
  CHECK(ibv_create_ah(device.pd(), &attr) == nullptr);
  attr.port_num = static_cast<std::uint8_t>(device.limits.phys_port_cnt + 1);
  CHECK(ibv_create_ah(device.pd(), &attr) == nullptr);
  attr = device.loopback();
  if (device.port.gid_tbl_len < 256) {
    attr.grh.sgid_index = static_cast<std::uint8_t>(device.port.gid_tbl_len);
    CHECK(ibv_create_ah(device.pd(), &attr) == nullptr);
  }
  if (device.port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    attr = device.loopback();
    attr.is_global = 0;
    CHECK(ibv_create_ah(device.pd(), &attr) == nullptr);
  }
}

TEST_CASE("an address handle of another protection domain cannot be used", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  const PdPtr other(ibv_alloc_pd(device.context()));
  REQUIRE(other);
  ibv_ah_attr attr = device.loopback();
  const AhPtr foreign(ibv_create_ah(other.get(), &attr));
  REQUIRE(foreign);
  pair.b.post_recv(0, 256, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND, {&sge, 1}));
  wr.wr.ud.ah = foreign.get();
  const int error = pair.a.try_post(wr);
  if (error == 0) {
    CHECK(wait_completion(pair.a.send_cq()).status == IBV_WC_LOC_QP_OP_ERR);
  } else {
    CHECK(error == EINVAL);
  }
  require_empty(pair.b.recv_cq());
}

TEST_CASE("a datagram to a GID of nobody is dropped", "[datagram]") {
  const Device device;
  const Pair pair(device, datagram());
  ibv_ah_attr attr = device.loopback();
  attr.grh.dgid.raw[15] ^= 0x55;
  const AhPtr nobody(ibv_create_ah(device.pd(), &attr));
  if (!nobody) return;  // a device that resolves the address at once may find out here
  pair.b.post_recv(0, 256, 1);
  ibv_sge sge = pair.a.buffer.sge(0, 8);
  ibv_send_wr wr = pair.to_peer(pair.a, work(IBV_WR_SEND_WITH_IMM, {&sge, 1}));
  ibv_ah* const somebody = wr.wr.ud.ah;
  wr.wr.ud.ah = nobody.get();
  wr.imm_data = htonl(1);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  wr.wr.ud.ah = somebody;
  wr.imm_data = htonl(2);
  pair.a.post(wr);
  wait_success(pair.a.send_cq());
  CHECK(ntohl(wait_success(pair.b.recv_cq()).imm_data) == 2);
  require_empty(pair.b.recv_cq());
}

}  // namespace rkv::verbs_test
