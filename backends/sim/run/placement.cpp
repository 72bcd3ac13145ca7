#include "backends/sim/run/placement.hpp"

namespace rkv::sim {

Placement placement_of(Simulation& simulation, const Placement& before) {
  Placement placement;
  for (const auto& thread : simulation.threads()) {
    if (thread->apart()) continue;
    const std::size_t number = placement.threads.size();
    if (thread->state() == Thread::State::ended && number < before.threads.size()) {
      placement.threads.push_back(before.threads[number]);
      continue;
    }
    const Core& core = thread->host().cpus().core_of(*thread);
    placement.threads.push_back({.cpu = static_cast<std::size_t>(core.cpu()),
                                 .for_so_long = simulation.world().now() - thread->came_at});
  }
  for (std::uint32_t host = 0; host < simulation.host_count(); ++host) {
    placement.interrupted_parts.push_back(simulation.host(host).cpus().interrupted_parts());
  }
  placement.walked = simulation.host(0).memory().walked();
  return placement;
}

void put_into(Simulation& simulation, const Placement& placement) {
  if (placement.threads.empty()) return;
  std::vector<std::vector<Processors::Seat>> seats(simulation.host_count());
  std::size_t number = 0;
  for (const auto& thread : simulation.threads()) {
    if (thread->apart() || number == placement.threads.size()) continue;
    const Placement::OfThread& place = placement.threads[number++];
    seats[thread->host().number()].push_back(
        {.thread = thread.get(), .cpu = place.cpu, .for_so_long = place.for_so_long});
  }
  for (std::uint32_t host = 0; host < simulation.host_count(); ++host) {
    Processors& cpus = simulation.host(host).cpus();
    cpus.arrange(seats[host]);
    cpus.set_interrupted_parts(placement.interrupted_parts[host]);
  }
  simulation.host(0).memory().set_walked(placement.walked);
}

}  // namespace rkv::sim
