#include "backends/sim/run/simulate_point.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/port/sim_ports.hpp"
#include "core/error.hpp"
#include "core/run/client_point.hpp"
#include "core/run/device_checks.hpp"
#include "core/run/server_point.hpp"

namespace rkv::sim {
namespace {

constexpr std::uint64_t token = 1;  // there are no strangers in a simulation
constexpr std::uint64_t store_bytes = std::uint64_t{1} << 40;

// Mean nanoseconds an operation, by where they went.
std::map<std::string, double> time_spent(const SpentTimes& spent, std::uint64_t operations) {
  std::map<std::string, double> means;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Spent::count_) && operations > 0; ++i) {
    const auto where = static_cast<Spent>(i);
    if (spent.of(where) == 0) continue;
    means[std::string(name(where))] = static_cast<double>(spent.of(where)) / static_cast<double>(ps_in_ns) /
                                      static_cast<double>(operations);
  }
  return means;
}

// A point's two sides, connected directly.
class Sides {
 public:
  Sides(Simulation& simulation, SimPorts& ports, const Scenario& scenario, std::uint32_t clients)
      : simulation_(simulation),
        ports_(ports),
        server_(ports_.port(0), scenario, clients, token,
                make_modelled_store(scenario.store, *ports_.port(0).runtime, store_bytes)) {
    const std::uint32_t hosts = simulation.host_count();
    const std::uint32_t first = std::min(hosts - 1, 1U);
    const std::uint32_t parts = std::min(hosts - first, clients);
    for (std::uint32_t part = 0; part < parts; ++part) {
      const ClientShare share = client_share(clients, part, parts);
      ClientPoint& client =
          *clients_.emplace_back(std::make_unique<ClientPoint>(ports_.port(first + part), scenario, share));
      for (std::uint32_t c = 0; c < share.count; ++c) {
        client.connect(c, server_.offer(share.first + c), never);
        if (scenario.transport != Transport::tcp) server_.connect(share.first + c, client.endpoint(c));
      }
    }
    if (scenario.transport == Transport::tcp) server_.accept_streams(never);
  }

  SimulatedPoint run() {
    server_.start();
    const Instant start = ports_.port(simulation_.host_count() - 1).runtime->now();
    simulation_.world().spent() = {};  // what came before is not the operations'
    for (auto& client : clients_) client->start(start);
    SimulatedPoint point;
    for (auto& client : clients_) {
      merge(point.result, client->collect(start));
      for (const TraceBuffer& trace : client->traces()) point.traces.push_back(trace);
    }
    const SpentTimes spent = simulation_.world().spent();
    const ServerResult served = server_.collect();
    add_server(point.result, served);
    point.result.time_spent_ns = time_spent(spent, served.counts.served);
    point.result.injected_faults = ports_.injected_faults();
    return point;
  }

  [[nodiscard]] std::uint64_t operations_done() const {
    std::uint64_t operations = 0;
    for (const auto& client : clients_) operations += client->operations_done();
    return operations;
  }
  void stop() {
    for (auto& client : clients_) client->stop();
  }

 private:
  Simulation& simulation_;
  SimPorts& ports_;
  ServerPoint server_;
  std::vector<std::unique_ptr<ClientPoint>> clients_;
};

}  // namespace

SimulatedPoint simulate_point(const Profile& profile, const Scenario& scenario, std::uint32_t clients,
                              const PointOptions& options) {
  Simulation simulation(profile, options.simulation);
  SimPorts ports(simulation, scenario.transport);
  SimulatedPoint point;
  simulation.run([&] {
    Sides sides(simulation, ports, scenario, clients);
    if (options.keep_on) {
      simulation.world().set_heartbeat([&] {
        if (!options.keep_on(simulation.world().now(), sides.operations_done())) sides.stop();
      });
    }
    point = sides.run();
    simulation.world().set_heartbeat({});
  });
  point.result.clients = clients;
  return point;
}

void check_against_profile(const Scenario& scenario, const Profile& profile, const std::string& source) {
  std::string problems;
  const auto check_cores = [&](const std::vector<int>& cores, const HostProfile& host, const char* pointer) {
    const auto count = static_cast<int>(host.cpu.sockets * host.cpu.cores_per_socket * host.cpu.smt_ways);
    for (const int cpu : cores) {
      if (cpu >= count) {
        problems += fmt::format("\n  {}: CPU {}, and the profile's host has {} (0 to {})", pointer, cpu,
                                count, count - 1);
      }
    }
  };
  check_cores(scenario.server.cores, profile.server, "/server/cores");
  check_cores(scenario.client.cores, profile.network.one_host ? profile.server : profile.client,
              "/client/cores");
  if (!problems.empty()) {
    throw InputError(fmt::format("{}: the profile {} can't do this:{}", source, profile.name, problems));
  }
  check_against_device(scenario, sim_device_name(profile.nic),
                       sim_device_limits(profile.nic, profile.network), source);
}

}  // namespace rkv::sim
