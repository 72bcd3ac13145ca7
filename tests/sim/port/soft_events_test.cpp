// What threads that post to the soft RNIC do for events of their own queues.
#include <array>
#include <catch2/catch.hpp>

#include "backends/sim/port/sim_completion_queue.hpp"
#include "backends/sim/port/sim_ports.hpp"
#include "tests/sim/sim_threads.hpp"

namespace rkv::sim::test {
namespace {

// The kernel's part of what posting these sends takes: three of one queue pair, whose own queue is armed or
// not.
Ps kernel_time_of_a_post(Transport transport, bool armed) {
  Profile profile = free_profile(1);
  profile.nic.kind = NicProfile::Kind::soft;
  profile.nic.soft_transfer = 50 * ns;
  profile.nic.soft_event = 200 * ns;
  profile.network.one_host = true;
  Simulation simulation(profile);
  SimPorts ports(simulation, transport);
  SimRuntime runtime(simulation, simulation.host(0));
  Ps time = 0;
  simulation.run([&] {
    run_threads(runtime, {[&] {
                  Device& device = *ports.port(0).device;
                  const auto sends = device.make_completion_queue(16, true);
                  const auto receives = device.make_completion_queue(16, true);
                  const auto region = device.make_region(4096);
                  const QueuePairSpec spec{.transport = transport,
                                           .send_completions = sends.get(),
                                           .receive_completions = receives.get(),
                                           .send_depth = 8,
                                           .receive_depth = 8};
                  const auto here = device.make_queue_pair(spec);
                  const auto there = device.make_queue_pair(spec);
                  here->connect(there->endpoint());
                  there->connect(here->endpoint());
                  std::array<SendRequest, 3> requests;
                  requests.fill({.region = region.get(), .length = 64, .signalled = true});
                  for (std::size_t i = 0; i < requests.size(); ++i)
                    REQUIRE(there->post_receive({.id = i, .region = region.get(), .length = 64}) == 0);
                  if (armed) dynamic_cast<SimCompletionQueue&>(*sends).arm();
                  simulation.world().current()->flush();
                  const Ps before = simulation.world().spent().of(Spent::kernel);
                  REQUIRE(here->post_sends(requests) == 0);
                  simulation.world().current()->flush();
                  time = simulation.world().spent().of(Spent::kernel) - before;
                }});
  });
  return time;
}

TEST_CASE("the sends of one post make one event of their own queue", "[soft_events]") {
  const Transport transport = GENERATE(Transport::rc, Transport::uc);
  CHECK(kernel_time_of_a_post(transport, true) == 200 * ns);
  CHECK(kernel_time_of_a_post(transport, false) == 0);
}

}  // namespace
}  // namespace rkv::sim::test
