#include "backends/sim/run/simulate_point.hpp"

#include <fmt/format.h>

#include "backends/sim/run/asked_profile.hpp"
#include "backends/sim/run/sides.hpp"
#include "core/error.hpp"
#include "core/run/device_checks.hpp"
#include "core/run/server_store.hpp"
#include "core/verbs_load/verbs_load_point.hpp"

namespace rkv::sim {

namespace {

// Looks now and then whether the point is to go on, and stops it else.
template <typename Running>
void watch(Simulation& simulation, const PointOptions& options, Running& running) {
  if (!options.keep_on) return;
  simulation.world().set_heartbeat([&] {
    if (!options.keep_on(simulation.world().now(), running.operations_done())) running.stop();
  });
}

SimulatedPoint run_verbs_load(Simulation& simulation, SimPorts& ports, const Scenario& scenario,
                              std::uint32_t clients, const PointOptions& options) {
  const Port& clients_port = ports.port(simulation.host_count() - 1);
  VerbsLoadPoint sides(clients_port, ports.port(0), scenario, clients);
  watch(simulation, options, sides);
  const Instant start = clients_port.runtime->now();
  simulation.world().spent() = {};
  sides.start(start);
  SimulatedPoint point;
  point.result = sides.collect(start);
  simulation.world().set_heartbeat({});
  point.result.injected_faults = ports.injected_faults();
  return point;
}

// That with the fewest CPUs of those on which clients run.
const HostProfile& clients_host(const Scenario& scenario, const Profile& profile) {
  if (profile.network.one_host) return profile.server;
  const bool on_both = scenario.workload == Workload::verbs && scenario.verbs.both_ways;
  const bool server_has_fewer = profile.server.cpu.cpus() < profile.client.cpu.cpus();
  return on_both && server_has_fewer ? profile.server : profile.client;
}

}  // namespace

SimulatedPoint simulate_point(const Profile& profile, const Scenario& scenario, std::uint32_t clients,
                              const PointOptions& options) {
  Simulation simulation(asked_profile(profile, scenario), options.simulation);
  SimPorts ports(simulation, scenario.transport);
  SimulatedPoint point;
  const auto body = [&] {
    if (scenario.workload == Workload::verbs) {
      point = run_verbs_load(simulation, ports, scenario, clients, options);
      return;
    }
    Sides sides(simulation, ports, scenario, clients,
                make_modelled_server_store(ports.port(0), scenario, clients, store_bytes));
    watch(simulation, options, sides);
    point = sides.run();
    simulation.world().set_heartbeat({});
  };
  // A program that runs both sides makes its threads one by one, for which it needs a CPU while those that
  // are made already may poll. Of two hosts there is no thread that makes all. Loads of bare verbs are left
  // as if made from outside.
  const bool on_host = profile.network.one_host && scenario.workload != Workload::verbs;
  simulation.run(body, on_host ? Simulation::Setter::on_host : Simulation::Setter::apart);
  point.result.clients = clients;
  return point;
}

void check_against_profile(const Scenario& scenario, const Profile& profile, const std::string& source) {
  std::string problems;
  const auto check_cores = [&](const std::vector<int>& cores, const HostProfile& host, const char* pointer) {
    const auto count = static_cast<int>(host.cpu.cpus());
    for (const int cpu : cores) {
      if (cpu >= count) {
        problems += fmt::format("\n  {}: CPU {}, and the profile's host has {} (0 to {})", pointer, cpu,
                                count, count - 1);
      }
    }
  };
  check_cores(scenario.server.cores, profile.server, "/server/cores");
  check_cores(scenario.client.cores, clients_host(scenario, profile), "/client/cores");
  if (!problems.empty()) {
    throw InputError(fmt::format("{}: the profile {} can't do this:{}", source, profile.name, problems));
  }
  check_against_device(scenario, sim_device_name(profile.nic),
                       sim_device_limits(profile.nic, profile.network), source);
}

}  // namespace rkv::sim
