// The device half of the seam where the seam's own suite does not look: what calls cost, what they refuse,
// and how an event reaches the host. Bursts are recorded by threads that no actor runs.
#include "backends/sim/port/sim_device.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>

#include "backends/sim/nic/nic.hpp"
#include "backends/sim/port/sim_queue_pair.hpp"
#include "core/error.hpp"

namespace rkv::sim::test {
namespace {

constexpr Ps ns = 1'000;

HostProfile host_profile() {
  HostProfile host;
  host.rc = {.post_send = 100, .post_receive = 30, .poll = 40, .empty_poll = 7, .arm = 5, .event = 11};
  host.uc = {.post_send = 200, .post_receive = 60, .poll = 80, .empty_poll = 9, .arm = 6, .event = 12};
  host.ud = {.post_send = 300, .post_receive = 90, .poll = 120, .empty_poll = 8, .arm = 7, .event = 13};
  host.scheduler.interrupt = 50 * ns;
  host.scheduler.wake_cost = 20 * ns;
  return host;
}

NicProfile nic_profile() {
  NicProfile nic;
  nic.max_sge = 4;
  nic.queue_depth = 32;
  nic.completion_queue_depth = 64;
  nic.inline_bytes = 128;
  return nic;
}

struct Machine {
  explicit Machine(const NicProfile& nic = nic_profile())
      : network(world, {}, {{0, 1}, {0, 1}}, {}),
        fabric(world, network),
        host(world, "host", host_profile(), 0),
        card(make_card(fabric, nic, 0)),
        device(world, host, *card, nic, {}),
        thread(world, host, "poster", {}) {
    world.set_current(&thread);
  }

  std::unique_ptr<QueuePair> make_pair(Transport transport, CompletionQueue& queue) {
    QueuePairSpec spec;
    spec.transport = transport;
    spec.send_completions = &queue;
    spec.receive_completions = &queue;
    spec.send_depth = spec.receive_depth = 8;
    spec.inline_bytes = 64;
    return device.make_queue_pair(spec);
  }

  World world{1};
  Network network;
  Fabric fabric;
  Host host;
  std::unique_ptr<Card> card;
  SimDevice device;
  Thread thread;
};

SimCompletionQueue& as_source(const std::unique_ptr<CompletionQueue>& queue) {
  return dynamic_cast<SimCompletionQueue&>(*queue);
}

Finished receive_of(std::uint32_t queue_pair, std::uint64_t id) {
  Finished finished;
  finished.completion.id = id;
  finished.completion.queue_pair = queue_pair;
  return finished;
}

TEST_CASE("a completion queue costs what its queue pairs' transport does", "[sim_device]") {
  Machine machine;
  const auto queue = machine.device.make_completion_queue(16, true);
  CHECK(as_source(queue).costs().empty_look == 9);
  const auto pair = machine.make_pair(Transport::rc, *queue);
  const Source::Costs& costs = as_source(queue).costs();
  CHECK(costs.empty_look == 7);
  CHECK(costs.blocking_look == 7);
  CHECK(costs.arm == 5);
  CHECK(costs.event == 16);
}

TEST_CASE("completions are taken in order, each further one at a quarter of the cost", "[sim_device]") {
  Machine machine;
  const auto made = machine.device.make_completion_queue(16, true);
  SimCompletionQueue& queue = as_source(made);
  CHECK_FALSE(queue.ready());
  for (std::uint64_t id = 0; id < 5; ++id) queue.push(receive_of(1, id));
  CHECK(queue.ready());
  CHECK(queue.take_cost(1) == 80);
  CHECK(queue.take_cost(3) == 80 + 2 * 20);
  CHECK(queue.take_cost(100) == 80 + 4 * 20);
  std::array<Completion, 3> out;
  CHECK(queue.take(machine.thread, out) == 3);
  CHECK(out[0].id == 0);
  CHECK(out[2].id == 2);
  CHECK(queue.take(machine.thread, out) == 2);
  CHECK(out[1].id == 4);
  CHECK(queue.take(machine.thread, out) == 0);
}

TEST_CASE("a completion queue that has overrun says so", "[sim_device]") {
  Machine machine;
  const auto made = machine.device.make_completion_queue(2, false);
  SimCompletionQueue& queue = as_source(made);
  for (std::uint64_t id = 0; id < 2; ++id) queue.push(receive_of(1, id));
  std::array<Completion, 1> out;
  CHECK(queue.take(machine.thread, out) == 1);
  for (std::uint64_t id = 2; id < 4; ++id) queue.push(receive_of(1, id));
  CHECK_THROWS_WITH(queue.take(machine.thread, out),
                    Catch::Contains("sim-rnic") && Catch::Contains("2 entries"));
}

TEST_CASE("a queue pair that is destroyed takes its completions along", "[sim_device]") {
  Machine machine;
  const auto made = machine.device.make_completion_queue(16, false);
  auto pair = machine.make_pair(Transport::uc, *made);
  const std::uint32_t number = pair->endpoint().queue_pair;
  as_source(made).push(receive_of(number, 0));
  as_source(made).push(receive_of(number + 1, 1));
  pair.reset();
  std::array<Completion, 2> out;
  CHECK(as_source(made).take(machine.thread, out) == 1);
  CHECK(out[0].id == 1);
}

TEST_CASE("an armed queue's event comes with an interrupt", "[sim_device]") {
  NicProfile nic = nic_profile();
  nic.interrupt_delay = GENERATE(0, 30'000);
  Machine machine(nic);
  const auto made = machine.device.make_completion_queue(16, true);
  SimCompletionQueue& queue = as_source(made);
  queue.push(receive_of(1, 0));
  CHECK(machine.world.advance(0) == false);  // not armed: no event
  queue.arm();
  CHECK(queue.wants_event());
  queue.push(receive_of(1, 1));
  CHECK_FALSE(queue.wants_event());
  CHECK_FALSE(queue.needs_arming());
  queue.push(receive_of(1, 2));  // one event for both
  CHECK_FALSE(queue.event_pending());
  machine.world.advance(forever);
  CHECK(queue.event_pending());
  CHECK(machine.world.now() == nic.interrupt_delay + 70 * ns);
  CHECK(machine.world.spent().of(Spent::interrupt) == nic.interrupt_delay + 70 * ns);
}

TEST_CASE("the soft card's event comes without one", "[sim_device]") {
  NicProfile nic = nic_profile();
  nic.kind = NicProfile::Kind::soft;
  nic.soft_event = 900;
  Machine machine(nic);
  CHECK(machine.device.device_name() == "sim-soft");
  const auto made = machine.device.make_completion_queue(16, true);
  as_source(made).arm();
  as_source(made).push(receive_of(1, 0));
  machine.world.advance(forever);
  CHECK(machine.world.now() == 900);
  CHECK(machine.world.spent().of(Spent::interrupt) == 0);
}

TEST_CASE("an event for a queue that was destroyed finds nothing", "[sim_device]") {
  NicProfile nic = nic_profile();
  nic.kind = GENERATE(NicProfile::Kind::rnic, NicProfile::Kind::soft);
  nic.interrupt_delay = GENERATE(0, 30'000);
  Machine machine(nic);
  auto made = machine.device.make_completion_queue(16, true);
  as_source(made).arm();
  as_source(made).push(receive_of(1, 0));
  made.reset();
  machine.world.advance(forever);
  CHECK(machine.world.spent().of(Spent::interrupt) == 0);
}

TEST_CASE("posting costs CPU time, when it is not refused", "[sim_device]") {
  Machine machine;
  const auto queue = machine.device.make_completion_queue(64, false);
  const auto region = machine.device.make_region(1000);
  const auto pair = machine.make_pair(Transport::rc, *queue);
  const auto peer = machine.make_pair(Transport::rc, *queue);
  SendRequest send;
  send.region = region.get();
  send.length = 100;
  CHECK(pair->post_send(send) == EINVAL);  // not connected
  pair->connect(peer->endpoint());
  CHECK(machine.thread.recorded() == 0);
  CHECK(pair->post_send(send) == 0);
  CHECK(machine.thread.recorded() == 100);

  send.inlined = true;
  CHECK(pair->post_send(send) == EINVAL);  // of 64
  send.length = 64;
  CHECK(pair->post_send(send) == 0);
  send.offset = 937;
  CHECK(pair->post_send(send) == EINVAL);  // beyond the region
  CHECK(machine.thread.recorded() == 200);

  CHECK(pair->post_receive({0, region.get(), 0, 1000}) == 0);
  CHECK(pair->post_receive({0, region.get(), 1, 1000}) == EINVAL);
  CHECK(machine.thread.recorded() == 230);
  for (int i = 0; i < 7; ++i) CHECK(pair->post_receive({0, region.get(), 0, 1000}) == 0);
  CHECK(pair->post_receive({0, region.get(), 0, 1000}) == ENOMEM);
  CHECK(machine.thread.recorded() == 230 + 7 * 30);
}

TEST_CASE("a datagram has a destination and fits the path", "[sim_device]") {
  Machine machine;
  const auto queue = machine.device.make_completion_queue(64, false);
  const auto region = machine.device.make_region(10'000);
  const auto pair = machine.make_pair(Transport::ud, *queue);
  pair->connect({});
  const auto peer = machine.device.make_address_handle(pair->endpoint());
  SendRequest send;
  send.region = region.get();
  send.length = 4096;
  CHECK(pair->post_send(send) == EINVAL);
  send.destination = peer.get();
  CHECK(pair->post_send(send) == 0);
  send.length = 4097;
  CHECK(pair->post_send(send) == EINVAL);
}

TEST_CASE("what is beyond the profile's limits is refused by name", "[sim_device]") {
  Machine machine;
  const DeviceLimits& limits = machine.device.limits();
  CHECK(limits.inline_bytes == 128);
  CHECK(limits.max_sge == 4);
  CHECK(limits.queue_depth == 32);
  CHECK(limits.completion_queue_depth == 64);
  CHECK(limits.path_mtu_bytes == 4096);
  CHECK_THROWS_WITH(machine.device.make_completion_queue(65, false),
                    Catch::Contains("sim-rnic: completion queue of 65"));
  const auto queue = machine.device.make_completion_queue(64, false);
  QueuePairSpec good;
  good.transport = Transport::uc;
  good.send_completions = good.receive_completions = queue.get();
  good.send_depth = good.receive_depth = 32;
  good.max_sge = 4;
  good.inline_bytes = 128;
  CHECK_NOTHROW(machine.device.make_queue_pair(good));
  const auto refusal = [&](auto change) {
    QueuePairSpec spec = good;
    change(spec);
    try {
      machine.device.make_queue_pair(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal([](QueuePairSpec& spec) { spec.send_depth = 33; }) ==
        "sim-rnic: queue pair: 33 sends; this device has at most 32");
  CHECK(refusal([](QueuePairSpec& spec) { spec.receive_depth = 33; }) ==
        "sim-rnic: queue pair: 33 receives; this device has at most 32");
  CHECK(refusal([](QueuePairSpec& spec) { spec.max_sge = 5; }) ==
        "sim-rnic: queue pair: 5 scatter/gather entries; this device has at most 4");
  CHECK(refusal([](QueuePairSpec& spec) { spec.inline_bytes = 129; }) ==
        "sim-rnic: queue pair: 129 bytes inline; this device has at most 128");
  CHECK_FALSE(refusal([](QueuePairSpec& spec) { spec.transport = Transport::tcp; }).empty());
  CHECK_FALSE(refusal([](QueuePairSpec& spec) { spec.send_completions = nullptr; }).empty());
  Machine other;
  const auto foreign = other.device.make_completion_queue(64, false);
  CHECK_FALSE(refusal([&](QueuePairSpec& spec) { spec.receive_completions = foreign.get(); }).empty());
}

TEST_CASE("an endpoint names host and queue pair", "[sim_device]") {
  const Address address{.host = 0x01020304, .queue_pair = 77};
  const Endpoint endpoint = to_endpoint(address, 1024);
  CHECK(to_address(endpoint) == address);
  CHECK(endpoint.path_mtu_bytes == 1024);
  Machine machine;
  const auto queue = machine.device.make_completion_queue(64, false);
  const auto first = machine.make_pair(Transport::uc, *queue);
  auto second = machine.make_pair(Transport::uc, *queue);
  const std::uint32_t number = second->endpoint().queue_pair;
  CHECK(first->endpoint().queue_pair != number);
  second.reset();
  CHECK(machine.make_pair(Transport::uc, *queue)->endpoint().queue_pair != number);  // never given twice
}

}  // namespace
}  // namespace rkv::sim::test
