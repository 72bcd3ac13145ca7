// Queues and doorbell registers that threads share: what their locks cost, by hand.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "backends/sim/cpu/backoff_lock.hpp"
#include "backends/sim/port/sim_ports.hpp"
#include "backends/sim/run/asked_profile.hpp"
#include "backends/sim/run/simulate_point.hpp"
#include "core/completion/waiter.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

Profile sharing_profile() {
  Profile profile = free_profile(2);
  profile.nic.doorbell = 0;
  for (HostProfile* host : {&profile.server, &profile.client}) {
    host->rc = {.post_send = 100 * ns,
                .post_receive = 0,
                .poll = 40 * ns,
                .empty_poll = 10 * ns,
                .arm = 0,
                .event = 0,
                .lock_hand_over = 300 * ns};
  }
  return profile;
}

Profile on_soft_device(Profile profile, Ps transfer) {
  profile.network.one_host = true;
  profile.nic.kind = NicProfile::Kind::soft;
  profile.nic.soft_transfer = transfer;
  profile.nic.soft_copy_ns_per_byte = 0;
  return profile;
}

// Two RC queue pairs that are connected, each with a completion queue of its own for all that it does.
struct Connected {
  Connected(const Port& port, const Port& peer, bool one_sided)
      : queue(port.device->make_completion_queue(8, false)),
        peer_queue(peer.device->make_completion_queue(8, false)),
        region(port.device->make_region(64)),
        peer_region(peer.device->make_region(64)) {
    const auto make = [one_sided](const Port& side, CompletionQueue& completions) {
      return side.device->make_queue_pair({.transport = Transport::rc,
                                           .send_completions = &completions,
                                           .receive_completions = &completions,
                                           .send_depth = 8,
                                           .receive_depth = 8,
                                           .one_sided = one_sided});
    };
    here = make(port, *queue);
    there = make(peer, *peer_queue);
    here->connect(there->endpoint());
    there->connect(here->endpoint());
  }

  std::unique_ptr<CompletionQueue> queue, peer_queue;
  std::unique_ptr<MemoryRegion> region, peer_region;
  std::unique_ptr<QueuePair> here, there;
};

// Two threads on a CPU each and a queue pair in common; each does its part at once.
template <typename Part>
std::array<Ps, 2> ended(const Part& part) {
  Simulation simulation(sharing_profile());
  SimPorts ports(simulation, Transport::rc);
  std::array<Ps, 2> at{};
  simulation.run([&] {
    const Port port = ports.port(0);
    const auto stop = port.runtime->make_stop_flag();
    const Connected pair(port, ports.port(1), true);
    auto& runtime = dynamic_cast<SimRuntime&>(*port.runtime);
    std::vector<std::function<void()>> bodies;
    for (std::size_t i = 0; i < at.size(); ++i) {
      bodies.emplace_back([&, i] {
        part(port, *pair.here, *pair.region, *pair.queue, *stop);
        at[i] = to_ps(port.runtime->now());
      });
    }
    run_threads(runtime, bodies, {{0}, {1}});
  });
  return at;
}

TEST_CASE("threads that post to one queue pair wait for its lock", "[sharing]") {
  const auto at = ended([](const Port&, QueuePair& pair, MemoryRegion& region, CompletionQueue&, StopFlag&) {
    for (int i = 0; i < 2; ++i)
      REQUIRE(pair.post_send({.region = &region, .length = 1, .signalled = false}) == 0);
  });
  // In turn, from the first release on each pays for the other's cache lines.
  CHECK(at[0] == (100 + 300 + 100 + 300 + 100) * ns);
  CHECK(at[1] == at[0] + (300 + 100) * ns);
}

TEST_CASE("threads that look at one completion queue wait for its lock", "[sharing]") {
  const auto at =
      ended([](const Port& port, QueuePair&, MemoryRegion&, CompletionQueue& queue, StopFlag& stop) {
        const auto set = wait_set_of(port, queue, stop);
        std::array<Completion, 4> out;
        CHECK(Waiter(*set, {}).look(out).wake == Wake::budget);
      });
  CHECK(at[0] == 10 * ns);
  CHECK(at[1] == (10 + 300 + 10) * ns);
}

// When each of two threads takes a completion that polls for one, if the first begins at once and shares its
// CPU with another thread, and both completions come when the sender has worked for so long.
std::array<Ps, 2> taken_at(Profile profile, Ps second_begins, Ps sent) {
  profile.server.cpu.cores_per_socket = 3;
  Simulation simulation(profile);
  SimPorts ports(simulation, Transport::rc);
  std::array<Ps, 2> taken{};
  simulation.run([&] {
    const Port port = ports.port(0);
    const auto stop = port.runtime->make_stop_flag();
    const Connected pair(port, ports.port(simulation.host_count() - 1), false);
    for (int i = 0; i < 2; ++i) {
      REQUIRE(pair.there->post_receive({.id = 0, .region = pair.peer_region.get(), .length = 64}) == 0);
    }
    const auto poll = [&](std::size_t who) {
      const auto set = wait_set_of(port, *pair.queue, *stop);
      std::array<Completion, 1> out;
      REQUIRE(set->spin(out, {}, never).wake == Wake::completions);
      taken[who] = to_ps(port.runtime->now());
    };
    run_threads(dynamic_cast<SimRuntime&>(*port.runtime),
                {[&] { poll(0); }, [&] { work(simulation, 10 * ms); },
                 [&] {
                   work(simulation, second_begins);
                   poll(1);
                 },
                 [&] {
                   work(simulation, sent);
                   for (int i = 0; i < 2; ++i) {
                     REQUIRE(pair.here->post_send(
                                 {.region = pair.region.get(), .length = 1, .signalled = true}) == 0);
                   }
                 }},
                {{0}, {0}, {1}, {2}});
  });
  return taken;
}

// When the first of two completions is taken that come 5 ms after the first of two threads has begun to poll,
// which has lost its CPU in between.
Ps first_taken_at(Ps lock_hand_over) {
  Profile profile = sharing_profile();
  profile.server.rc.lock_hand_over = lock_hand_over;
  const std::array<Ps, 2> taken = taken_at(profile, 4 * ms, 5 * ms);
  return std::min(taken[0], taken[1]);
}

TEST_CASE("a thread that loses its CPU while it polls keeps what others need to take completions",
          "[sharing]") {
  // The first one polls alone until it loses its CPU at 3 ms, so it holds the lock, until 6 ms.
  const Ps kept = first_taken_at(300 * ns);
  CHECK(kept > 6 * ms);
  CHECK(kept < 6 * ms + 2 * us);
  const Ps without_lock = first_taken_at(0);
  CHECK(without_lock > 5 * ms);
  CHECK(without_lock < 5 * ms + 10 * us);
}

TEST_CASE("soft device: a poster that loses its CPU keeps what others need to send to the same queue pair",
          "[sharing]") {
  Simulation simulation(on_soft_device(free_profile(2), 4 * ms));
  SimPorts ports(simulation, Transport::ud);
  std::array<Ps, 2> done{};
  simulation.run([&] {
    const Port port = ports.port(0);
    const auto queue = port.device->make_completion_queue(8, false);
    const auto region = port.device->make_region(64);
    const auto make = [&] {
      auto pair = port.device->make_queue_pair({.transport = Transport::ud,
                                                .send_completions = queue.get(),
                                                .receive_completions = queue.get(),
                                                .send_depth = 8,
                                                .receive_depth = 8});
      pair->connect({});
      return pair;
    };
    const auto server = make();
    const auto to_server = port.device->make_address_handle(server->endpoint());
    const std::array pairs{make(), make()};
    const auto post = [&](std::size_t who) {
      SendRequest send;
      send.region = region.get();
      send.length = 1;
      send.destination = to_server.get();
      REQUIRE(pairs[who]->post_send(send) == 0);
      work(simulation, 0);
      done[who] = to_ps(port.runtime->now());
    };
    run_threads(dynamic_cast<SimRuntime&>(*port.runtime),
                {[&] { post(0); }, [&] { work(simulation, 6 * ms); },
                 [&] {
                   work(simulation, 2 * ms);
                   post(1);
                 }},
                {{0}, {0}, {1}});
  });
  // The first one is without its CPU from 3 to 6 ms. The other one yields in vain, and looks again every nap
  // until 7 ms are over.
  CHECK(done[0] == 7 * ms);
  CHECK(done[1] == 2 * ms + BackoffLock::spin + BackoffLock::yields * BackoffLock::yield +
                       72 * BackoffLock::nap + 4 * ms);
}

TEST_CASE("soft device: who loses its CPU while it takes a completion keeps others from taking any",
          "[sharing]") {
  Profile profile = on_soft_device(sharing_profile(), 0);
  profile.server.rc.lock_hand_over = 0;
  profile.server.rc.poll = 2 * ms;
  const std::array<Ps, 2> taken = taken_at(profile, 3'500 * us, 1'500 * us);
  // The first one takes from 1.5 ms on, is without its CPU from 3 to 6 ms, and is through half a millisecond
  // later. The other one takes from 6 ms on.
  CHECK(taken[0] >= 6'500 * us);
  CHECK(taken[0] < 6'502 * us);
  CHECK(taken[1] >= 8 * ms);
  CHECK(taken[1] < 8 * ms + 2 * us);
}

TEST_CASE("a client of its own pays nothing for locks", "[sharing]") {
  Profile profile = sharing_profile();
  Scenario scenario;
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  scenario.load.total_operations = 100;
  scenario.load.window = 4;
  scenario.verbs.rounds = true;
  scenario.queue_pair.signal_interval = 1;
  const SimulatedPoint with = simulate_point(profile, scenario, 1, {});
  profile.client.rc.lock_hand_over = 0;
  const SimulatedPoint without = simulate_point(profile, scenario, 1, {});
  CHECK(with.result.window.length() == without.result.window.length());
}

TEST_CASE("registers that are asked for beyond the shared ones are private", "[sharing]") {
  Profile profile;
  profile.nic.shared_doorbells = 12;
  profile.nic.private_doorbells = 4;
  Scenario scenario;
  const auto private_doorbells = [&](std::optional<std::uint32_t> asked) {
    scenario.device.doorbell_registers = asked;
    return asked_profile(profile, scenario).nic.private_doorbells;
  };
  CHECK(private_doorbells({}) == 4);
  CHECK(private_doorbells(16) == 4);
  CHECK(private_doorbells(108) == 96);
  profile.nic.shared_doorbells = profile.nic.private_doorbells = 0;
  CHECK(private_doorbells(108) == 0);
}

TEST_CASE("rounds wait for all of a window, a window for each of its places", "[sharing]") {
  Profile profile = free_profile(1);
  profile.nic.doorbell = 0;
  profile.client.rc.post_send = 100 * ns;
  profile.client.rc.poll = 20 * ns;
  Scenario scenario;
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  scenario.load.window = 2;
  scenario.load.total_operations = 2;
  scenario.queue_pair.signal_interval = 1;
  const auto length = [&](std::uint64_t operations, bool rounds) {
    scenario.load.total_operations = operations;
    scenario.verbs.rounds = rounds;
    return simulate_point(profile, scenario, 1, {}).result.window.length();
  };
  // From the first end to the last: of one round 100 ns apart or more, as they were posted.
  const Duration one_round = length(2, true);
  CHECK(one_round == length(2, false));
  // The third is posted when the first has ended, or when the second has.
  CHECK(length(3, true) > length(3, false));
}

}  // namespace
}  // namespace rkv::sim::test
