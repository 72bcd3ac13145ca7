// READs that take their time, and keys that are known although nobody gave them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "backends/verbs/port/device_choice.hpp"
#include "backends/verbs/port/memory_region.hpp"
#include "backends/verbs/soft/fault.h"
#include "tests/port/one_sided.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;

// Requests that are posted from now on take so long.
class Delay {
 public:
  explicit Delay(std::chrono::nanoseconds delay) { set(delay); }
  Delay(const Delay&) = delete;
  Delay& operator=(const Delay&) = delete;
  ~Delay() { rkv_soft_set_faults(nullptr); }

  static void set(std::chrono::nanoseconds delay) {
    rkv_soft_faults faults{};
    faults.delay_ns = static_cast<std::uint64_t>(delay.count());
    REQUIRE(rkv_soft_set_faults(&faults) == 0);
  }
};

TEST_CASE("watched READs are handed out as their bytes come, the quicker first", "[real_one_sided]") {
  with_ports(Transport::rc, [](const PortPair& ports) {
    if (ports.client.device->device_name() != verbs::soft_device_name) {
      WARN("only soft0 can be told to be slow");
      return;
    }
    const auto queue = ports.client.device->make_completion_queue(64, false);
    std::vector<std::unique_ptr<Side>> servers;
    std::vector<std::unique_ptr<Side>> clients;
    for (int i = 0; i < 2; ++i) {
      servers.push_back(std::make_unique<Side>(ports.server, Transport::rc, SideOptions{.one_sided = true}));
      clients.push_back(std::make_unique<Side>(ports.client, Transport::rc,
                                               SideOptions{.blockable = false, .shared_sends = queue.get()}));
      connect(ports, *servers.back(), *clients.back());
      std::ranges::fill(servers.back()->region->bytes(), std::byte{7});
    }
    const std::array<CompletionQueue*, 1> source{queue.get()};
    const auto set = ports.client.wait_sets->make_wait_set({source, {}}, *clients[0]->stop);
    Completion completion;
    const std::span<Completion> out(&completion, 1);

    constexpr std::chrono::nanoseconds slow = 1s;
    constexpr std::chrono::nanoseconds quick = 1ms;
    const auto posted = std::chrono::steady_clock::now();
    Delay delay(slow);
    REQUIRE(clients[0]->pair->post_send(
                watched_read(*clients[0], 1, operation_bytes, remote(*servers[0], 0))) == 0);
    CHECK(set->spin(out, {.scans = 1}, never).wake == Wake::budget);
    Delay::set(quick);
    for (const std::uint32_t slot : {2U, 3U}) {
      REQUIRE(clients[1]->pair->post_send(
                  watched_read(*clients[1], slot, operation_bytes, remote(*servers[1], 0))) == 0);
    }
    for (const std::uint64_t id : {2U, 3U, 1U}) {
      REQUIRE(set->spin(out, {}, never).wake == Wake::completions);
      CHECK(completion.id == id);
      CHECK(std::chrono::steady_clock::now() - posted >= (id == 1 ? slow : quick));
      const Side& client = *clients[id == 1 ? 0 : 1];
      CHECK(completion.queue_pair == client.pair->endpoint().queue_pair);
      const auto all = client.payload(id).first(operation_bytes);
      CHECK(std::ranges::all_of(all, [](std::byte byte) { return byte == std::byte{7}; }));
    }
  });
}

TEST_CASE("the key of memory that is not exposed opens it to no peer", "[real_one_sided]") {
  const SendOperation operation = GENERATE(SendOperation::write, SendOperation::read);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    Side server(ports.server, Transport::rc, {.one_sided = true});
    Side client(ports.client, Transport::rc, {});
    connect(ports, server, client);
    const auto region = ports.server.device->make_region(Side::slot_bytes);
    const RemoteMemory memory{.address = reinterpret_cast<std::uintptr_t>(region->bytes().data()),
                              .key = static_cast<verbs::VerbsMemoryRegion&>(*region).local_key()};
    client.payload(1)[0] = std::byte{1};
    REQUIRE(client.pair->post_send(one_sided(operation, client, 1, operation_bytes, memory)) == 0);
    CHECK(take(How::block, *client.sends).completion.status == CompletionStatus::access);
    CHECK(region->bytes()[0] == std::byte{0});
  });
}

}  // namespace
}  // namespace rkv::test
