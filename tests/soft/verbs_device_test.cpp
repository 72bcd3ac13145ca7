// The device itself: that it is listed, that what it says about itself is true, and that limits are kept.
#include <algorithm>
#include <array>
#include <string_view>

#include "tests/soft/verbs_fixture.hpp"

namespace rkv::verbs_test {

TEST_CASE("the device is listed once, with a name, a GUID and a kind", "[device]") {
  int count = -1;
  ibv_device** list = ibv_get_device_list(&count);
  REQUIRE(list != nullptr);
  CHECK(list[count] == nullptr);
  int found = 0;
  for (int i = 0; i < count; ++i) {
    if (device_name() != ibv_get_device_name(list[i])) continue;
    ++found;
    CHECK(ibv_get_device_guid(list[i]) != 0);
    CHECK(list[i]->node_type == IBV_NODE_CA);
    CHECK(list[i]->transport_type == IBV_TRANSPORT_IB);
  }
  CHECK(found == 1);
  ibv_free_device_list(list);
}

TEST_CASE("a device outlives the list it was opened from, and can be opened many times", "[device]") {
  const Device one;
  const Device two;
  CHECK(one.context() != two.context());
  CHECK(one.context()->device != nullptr);
  CHECK(device_name() == ibv_get_device_name(one.context()->device));
  CHECK(one.context()->async_fd >= 0);
  CHECK(fcntl(one.context()->cmd_fd, F_GETFD) != -1);
  CHECK(one.context()->cmd_fd != two.context()->cmd_fd);
  CHECK(one.context()->num_comp_vectors >= 1);
}

TEST_CASE("queue pairs of two contexts of the device reach each other", "[device]") {
  const Device one;
  const Device two;
  const Endpoint a(one);
  const Endpoint b(two);
  a.ready(b.number());
  b.ready(a.number());
  b.post_recv(0, 64, 1);
  ibv_sge sge = a.buffer.sge(0, 8);
  a.post(work(IBV_WR_SEND, {&sge, 1}, 2));
  CHECK(wait_success(a.send_cq()).wr_id == 2);
  CHECK(wait_success(b.recv_cq()).wr_id == 1);
}

TEST_CASE("the device's limits are sensible and the extended query says the same", "[device]") {
  const Device device;
  const ibv_device_attr& limits = device.limits;
  CHECK(limits.phys_port_cnt >= 1);
  CHECK(limits.node_guid != 0);
  CHECK(limits.sys_image_guid != 0);
  CHECK(limits.vendor_id != 0);
  CHECK(limits.max_qp > 0);
  CHECK(limits.max_qp_wr > 0);
  CHECK(limits.max_sge > 0);
  CHECK(limits.max_cq > 0);
  CHECK(limits.max_cqe > 0);
  CHECK(limits.max_mr > 0);
  CHECK(limits.max_pd > 0);
  CHECK(limits.max_ah > 0);
  CHECK(limits.max_srq > 0);
  CHECK(limits.max_srq_wr > 0);
  CHECK(limits.max_pkeys >= 1);
  CHECK(limits.max_mr_size > 4096);
  CHECK((limits.page_size_cap & 4096) != 0);
  CHECK(limits.max_qp_rd_atom >= 1);
  CHECK(limits.atomic_cap != IBV_ATOMIC_NONE);
  ibv_device_attr_ex extended{};
  REQUIRE(ibv_query_device_ex(device.context(), nullptr, &extended) == 0);
  CHECK(extended.orig_attr.max_qp == limits.max_qp);
  CHECK(extended.orig_attr.max_cqe == limits.max_cqe);
  CHECK(extended.orig_attr.node_guid == limits.node_guid);
  CHECK(extended.phys_port_cnt_ex == limits.phys_port_cnt);
}

TEST_CASE("the port is active and a port that does not exist is an error", "[device]") {
  const Device device;
  CHECK(device.port.state == IBV_PORT_ACTIVE);
  CHECK(device.port.active_mtu <= device.port.max_mtu);
  CHECK(device.port.active_mtu >= IBV_MTU_1024);
  CHECK(device.port.gid_tbl_len >= 1);
  CHECK(device.port.pkey_tbl_len >= 1);
  CHECK(device.port.max_msg_sz >= 1U << 20);
  ibv_port_attr port{};
  CHECK(ibv_query_port(device.context(), 0, &port) == EINVAL);
  CHECK(ibv_query_port(device.context(), static_cast<std::uint8_t>(device.limits.phys_port_cnt + 1), &port) ==
        EINVAL);
}

TEST_CASE("the GID and P_Key tables can be read to their ends and not beyond", "[device]") {
  const Device device;
  ibv_gid zero{};
  int filled = 0;
  for (int i = 0; i < device.port.gid_tbl_len; ++i) {
    ibv_gid gid{};
    REQUIRE(ibv_query_gid(device.context(), Device::kPort, i, &gid) == 0);
    const bool empty = std::memcmp(&gid, &zero, sizeof gid) == 0;
    ibv_gid_entry entry{};
    CHECK(ibv_query_gid_ex(device.context(), Device::kPort, static_cast<std::uint32_t>(i), &entry, 0) ==
          (empty ? ENODATA : 0));
    if (empty) continue;
    ++filled;
    CHECK(std::memcmp(&entry.gid, &gid, sizeof gid) == 0);
    CHECK(entry.gid_index == static_cast<std::uint32_t>(i));
    CHECK(entry.port_num == Device::kPort);
  }
  CHECK(filled >= 1);
  std::vector<ibv_gid_entry> table(static_cast<std::size_t>(device.port.gid_tbl_len));
  CHECK(ibv_query_gid_table(device.context(), table.data(), table.size(), 0) == filled);
  ibv_gid gid{};
  CHECK(ibv_query_gid(device.context(), Device::kPort, device.port.gid_tbl_len, &gid) != 0);
  __be16 pkey = 0;
  REQUIRE(ibv_query_pkey(device.context(), Device::kPort, 0, &pkey) == 0);
  CHECK(pkey == 0xffff);
  CHECK(ibv_query_pkey(device.context(), Device::kPort, device.port.pkey_tbl_len, &pkey) != 0);
}

TEST_CASE("a queue pair may be as large as the device says and not larger", "[device]") {
  const Device device;
  const CqPtr cq = make_cq(device);
  const auto try_create = [&](ibv_qp_cap cap, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr init{};
    init.qp_type = type;
    init.send_cq = cq.get();
    init.recv_cq = cq.get();
    init.cap = cap;
    const QpPtr qp(ibv_create_qp(device.pd(), &init));
    if (qp) {
      CHECK(init.cap.max_send_wr >= cap.max_send_wr);
      CHECK(init.cap.max_recv_wr >= cap.max_recv_wr);
      CHECK(init.cap.max_send_sge >= cap.max_send_sge);
      CHECK(init.cap.max_recv_sge >= cap.max_recv_sge);
      CHECK(init.cap.max_inline_data >= cap.max_inline_data);
    }
    return qp != nullptr;
  };
  const auto most_wr = static_cast<std::uint32_t>(device.limits.max_qp_wr);
  const auto most_sge = static_cast<std::uint32_t>(device.limits.max_sge);
  CHECK(try_create({most_wr, most_wr, 1, 1, 0}));
  CHECK(try_create({1, 1, most_sge, most_sge, 0}));
  CHECK(!try_create({most_wr + 1, 1, 1, 1, 0}));
  CHECK(!try_create({1, most_wr + 1, 1, 1, 0}));
  CHECK(!try_create({1, 1, most_sge + 1, 1, 0}));
  CHECK(!try_create({1, 1, 1, most_sge + 1, 0}));
  CHECK(!try_create({1, 1, 1, 1, 1U << 30}));
  CHECK(try_create({0, 16, 0, 1, 0}));
  CHECK(try_create({16, 0, 1, 0, 0}));
  CHECK(!try_create({1, 1, 1, 1, 0}, static_cast<ibv_qp_type>(99)));
}

TEST_CASE("queue pair numbers are unique, of 24 bits, and not the special ones", "[device]") {
  const Device device;
  const CqPtr cq = make_cq(device);
  std::vector<QpPtr> queue_pairs;
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 200; ++i) {
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.send_cq = cq.get();
    init.recv_cq = cq.get();
    init.cap = {1, 1, 1, 1, 0};
    queue_pairs.emplace_back(ibv_create_qp(device.pd(), &init));
    REQUIRE(queue_pairs.back());
    numbers.push_back(queue_pairs.back()->qp_num);
    CHECK(numbers.back() > 1);
    CHECK(numbers.back() < 0xffffff);
  }
  std::sort(numbers.begin(), numbers.end());
  CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
}

}  // namespace rkv::verbs_test
