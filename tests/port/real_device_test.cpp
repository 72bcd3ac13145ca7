// Choosing a device, a port's GID and a path MTU, and what a report says of them.
#include <poll.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <vector>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/port/completion_queue.hpp"
#include "backends/verbs/port/completion_status.hpp"
#include "backends/verbs/port/gid_choice.hpp"
#include "backends/verbs/port/real_port.hpp"
#include "core/error.hpp"

namespace rkv::verbs {
namespace {

ibv_gid_entry gid_entry(std::uint32_t index, std::uint32_t type, bool ipv4) {
  ibv_gid_entry entry{};
  entry.gid_index = index;
  entry.gid_type = type;
  if (ipv4) {
    entry.gid.raw[10] = entry.gid.raw[11] = 0xff;
    entry.gid.raw[12] = 10;
  } else {
    entry.gid.raw[0] = 0xfe;
    entry.gid.raw[1] = 0x80;
  }
  return entry;
}

TEST_CASE("on RoCE the first RoCEv2 GID of an IPv4 address is picked, then any RoCEv2", "[real_device]") {
  const auto v1 = gid_entry(0, IBV_GID_TYPE_ROCE_V1, false);
  const auto v2 = gid_entry(1, IBV_GID_TYPE_ROCE_V2, false);
  const auto v1_ipv4 = gid_entry(2, IBV_GID_TYPE_ROCE_V1, true);
  const auto v2_ipv4 = gid_entry(3, IBV_GID_TYPE_ROCE_V2, true);
  const auto v2_other_ipv4 = gid_entry(5, IBV_GID_TYPE_ROCE_V2, true);
  const auto pick = [](std::uint8_t link_layer, std::initializer_list<ibv_gid_entry> table) {
    return pick_gid_index(link_layer, {table.begin(), table.size()});
  };
  CHECK(pick(IBV_LINK_LAYER_ETHERNET, {v1, v2, v1_ipv4, v2_ipv4, v2_other_ipv4}) == 3);
  CHECK(pick(IBV_LINK_LAYER_ETHERNET, {v1, v1_ipv4, v2}) == 1);
  CHECK(pick(IBV_LINK_LAYER_ETHERNET, {v1_ipv4, v1}) == 0);
  CHECK(pick(IBV_LINK_LAYER_ETHERNET, {}) == 0);
  CHECK(pick(IBV_LINK_LAYER_INFINIBAND, {v2_ipv4}) == 0);
}

TEST_CASE("the path MTU is the largest of verbs' five that fits", "[real_device]") {
  CHECK(mtu_within(4096) == IBV_MTU_4096);
  CHECK(mtu_within(1500) == IBV_MTU_1024);
  CHECK(mtu_within(0) == IBV_MTU_256);
}

TEST_CASE("a work request's end keeps its meaning", "[real_device]") {
  CHECK(completion_status(IBV_WC_SUCCESS) == CompletionStatus::ok);
  CHECK(completion_status(IBV_WC_WR_FLUSH_ERR) == CompletionStatus::flushed);
  CHECK(completion_status(IBV_WC_RETRY_EXC_ERR) == CompletionStatus::peer_unreachable);
  CHECK(completion_status(IBV_WC_RNR_RETRY_EXC_ERR) == CompletionStatus::receiver_not_ready);
  CHECK(completion_status(IBV_WC_LOC_LEN_ERR) == CompletionStatus::message_length);
  CHECK(completion_status(IBV_WC_LOC_PROT_ERR) == CompletionStatus::access);
  CHECK(completion_status(IBV_WC_REM_ACCESS_ERR) == CompletionStatus::access);
  CHECK(completion_status(IBV_WC_REM_INV_REQ_ERR) == CompletionStatus::message_length);
  CHECK(completion_status(IBV_WC_REM_INV_REQ_ERR, true) == CompletionStatus::access);
  CHECK(completion_status(IBV_WC_FATAL_ERR) == CompletionStatus::failed);
}

RealPortOptions with_device(const DeviceOptions& device) {
  return {.transport = Transport::uc, .device = device, .service_host = {}};
}

TEST_CASE("a missing device's error lists those that there are", "[real_device]") {
  CHECK_THROWS_WITH(RealPort(with_device({.name = "mlx5_99", .port = 1, .gid_index = {}})),
                    Catch::Contains("no RDMA device 'mlx5_99'") && Catch::Contains("soft0 (port 1 is"));
}

TEST_CASE("a port or a GID index that the device does not have is refused", "[real_device]") {
  CHECK_THROWS_WITH(RealPort(with_device({.name = "soft0", .port = 77, .gid_index = {}})),
                    Catch::Contains("soft0 port 77"));
  CHECK_THROWS_WITH(RealPort(with_device({.name = "soft0", .port = 1, .gid_index = 4'000'000'000})),
                    Catch::Contains("GID index 4000000000"));
}

TEST_CASE("soft0 can be named, says that it is soft and describes itself", "[real_device]") {
  RealPort port(with_device({.name = "soft0", .port = 1, .gid_index = {}}));
  CHECK(port.port().device->device_name() == "soft0");
  CHECK(port.port().streams == nullptr);
  const nlohmann::json description = port.device()->describe();
  CHECK(description.at("name") == "soft0");
  CHECK(description.at("soft") == true);
  CHECK(description.at("port") == 1);
  CHECK(description.at("mtu_bytes") == port.port().device->limits().path_mtu_bytes);
  for (const char* key : {"transport", "link_layer", "firmware", "gid"}) {
    CHECK_FALSE(description.at(key).get<std::string>().empty());
  }
  CHECK(description.at("speed_gbit_s") > 0);
}

TEST_CASE("a driver is asked for doorbell registers when its device is opened", "[real_device]") {
  ::unsetenv("MLX5_TOTAL_UUARS");
  RealPort as_it_is(with_device({.name = "soft0", .port = 1, .gid_index = {}}));
  CHECK(std::getenv("MLX5_TOTAL_UUARS") == nullptr);
  RealPort more(with_device({.name = "soft0", .port = 1, .gid_index = {}, .doorbell_registers = 64}));
  REQUIRE(std::getenv("MLX5_TOTAL_UUARS") != nullptr);
  CHECK(std::string_view(std::getenv("MLX5_TOTAL_UUARS")) == "64");
  ::unsetenv("MLX5_TOTAL_UUARS");
}

TEST_CASE("a TCP port opens no device", "[real_device]") {
  RealPort port({.transport = Transport::tcp,
                 .device = {.name = "mlx5_99", .port = 1, .gid_index = {}},
                 .service_host = "127.0.0.1"});
  CHECK(port.port().device == nullptr);
  CHECK(port.port().streams != nullptr);
}

std::unique_ptr<QueuePair> connected_to_itself(Device& device, CompletionQueue& sends,
                                               CompletionQueue& receives) {
  auto pair = device.make_queue_pair({.transport = Transport::uc,
                                      .send_completions = &sends,
                                      .receive_completions = &receives,
                                      .send_depth = 1,
                                      .receive_depth = 1});
  pair->connect(pair->endpoint());
  return pair;
}

TEST_CASE("one wait set takes completion queues and streams together", "[real_device]") {
  RealPort verbs_port(with_device({.name = "soft0", .port = 1, .gid_index = {}}));
  const Port port = verbs_port.port();
  TcpNetwork network;
  const auto listener = network.listen(1);
  const StreamSpec spec{64, 64, {}};
  const auto near_end =
      network.dial(listener->address(), spec, port.runtime->now() + std::chrono::seconds(10));
  const auto far_end = listener->accept(spec, port.runtime->now() + std::chrono::seconds(10));
  REQUIRE(far_end);
  const auto region = port.device->make_region(64);
  const auto queue = port.device->make_completion_queue(4, true);
  const auto pair = connected_to_itself(*port.device, *queue, *queue);

  const auto stop = port.runtime->make_stop_flag();
  const std::array<CompletionQueue*, 1> queues{queue.get()};
  const std::array<Stream*, 1> streams{near_end.get()};
  const auto set = port.wait_sets->make_wait_set({queues, streams}, *stop);
  Completion completion;
  CHECK(set->block({&completion, 1}, port.runtime->now()).wake == Wake::deadline);
  REQUIRE(far_end->send(std::vector<std::byte>(5)) == StreamSend::accepted);
  CHECK(set->block({&completion, 1}, never).source == 1);
  CHECK(completion.bytes == 5);
  SendRequest request;
  request.region = region.get();
  request.length = 3;
  REQUIRE(pair->post_send(request) == 0);
  CHECK(set->block({&completion, 1}, never).source == 0);
  CHECK(set->block({&completion, 1}, port.runtime->now()).wake == Wake::deadline);
}

TEST_CASE("awaiting events, a completion that is there is taken with its event", "[real_device]") {
  RealPort verbs_port(with_device({.name = "soft0", .port = 1, .gid_index = {}}));
  const Port port = verbs_port.port();
  const auto region = port.device->make_region(64);
  const auto sends = port.device->make_completion_queue(4, true);
  const auto receives = port.device->make_completion_queue(4, true);
  const auto pair = connected_to_itself(*port.device, *sends, *receives);
  const auto stop = port.runtime->make_stop_flag();
  const std::array<CompletionQueue*, 1> queues{sends.get()};
  const auto set = port.wait_sets->make_wait_set({queues, {}}, *stop);
  const auto event_left = [&] {
    pollfd channel{
        .fd = dynamic_cast<VerbsCompletionQueue&>(*sends).channel_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&channel, 1, 0) == 1;
  };
  SendRequest request;
  request.region = region.get();
  request.length = 3;
  std::array<Completion, 2> out;
  REQUIRE(set->await_event(out, port.runtime->now()).wake == Wake::deadline);  // armed from here on
  const bool awaits = GENERATE(true, false);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(pair->post_send(request) == 0);
    REQUIRE(event_left());
    const WaitResult result = awaits ? set->await_event(out, never) : set->block(out, never);
    REQUIRE(result.count == 1);
    CHECK(event_left() == !awaits);
    if (!awaits) break;
  }
}

}  // namespace
}  // namespace rkv::verbs
