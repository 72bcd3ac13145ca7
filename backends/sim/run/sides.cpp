#include "backends/sim/run/sides.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "backends/sim/run/hurried_moves.hpp"

namespace rkv::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t token = 1;  // there are no strangers in a simulation
// How often a program looks how far it has come (backends/verbs/control/run_client.cpp).
constexpr std::chrono::milliseconds look_interval{100};
// What a program's two threads that set the sides up do before the first worker is made: the clients' starts
// the program and makes the server's, which prepares the server while it sleeps, sleeps while it connects the
// clients, and then connects the server and makes the workers. As traces of rkv-real had it (events
// sched_switch and sched_wakeup_new), eight of TCP with 2 clients and four of UC with 8: 5.4 to 12.2 ms; 0.9
// to 1.7 (TCP) and 4.5 to 6.0 ms (UC); 0.6 to 2.0 ms; 0.1 (TCP) and 0.3 ms (UC).
struct SetUp {
  std::chrono::microseconds server, connect_server;
};
constexpr SetUp over_streams{.server = 1000us, .connect_server = 100us};
constexpr SetUp over_verbs{.server = 5200us, .connect_server = 280us};
constexpr std::chrono::microseconds start_program = 7000us;
constexpr std::chrono::microseconds connect_clients = 900us;
// Before that, who starts the program has used the CPUs. An estimate: with it 6 of 12 simulated runs of
// polling over RC with 2 clients begin with each client on the other CPU than its worker, 1 with each on its
// worker's, and 5 with three of the four threads on one CPU; of 20 real ones over RC and UC 8, 5 and 7
// (sched_switch). If no CPU had been used all would begin as the first.
constexpr std::chrono::milliseconds used_before{96};
// Then nobody looks any more: a simulation that stands still is to be found out.
constexpr unsigned looks_in_vain = 100;

SideActivity activity(std::span<const std::unique_ptr<Thread>> threads) {
  SideActivity sum;
  for (const auto& thread : threads) {
    thread->settle();
    sum.voluntary_switches += thread->voluntary_switches;
    sum.involuntary_switches += thread->involuntary_switches;
    sum.cpu_time += thread->cpu_time;
  }
  return sum;
}

SideActivity between(const SideActivity& before, const SideActivity& after) {
  return {.voluntary_switches = after.voluntary_switches - before.voluntary_switches,
          .involuntary_switches = after.involuntary_switches - before.involuntary_switches,
          .cpu_time = after.cpu_time - before.cpu_time};
}

}  // namespace

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

Sides::Sides(Simulation& simulation, SimPorts& ports, const Scenario& scenario, std::uint32_t clients,
             std::unique_ptr<Store> store)
    : simulation_(simulation),
      ports_(ports),
      tcp_(scenario.transport == Transport::tcp),
      server_(ports_.port(0), scenario, clients, token, std::move(store)) {
  const std::uint32_t hosts = simulation.host_count();
  const std::uint32_t first = std::min(hosts - 1, 1U);
  const std::uint32_t parts = std::min(hosts - first, clients);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const ClientShare share = client_share(clients, part, parts);
    ClientPoint& client =
        *clients_.emplace_back(std::make_unique<ClientPoint>(ports_.port(first + part), scenario, share));
    for (std::uint32_t c = 0; c < share.count; ++c) {
      client.connect(c, server_.offer(share.first + c), never);
      if (!tcp_) server_.connect(share.first + c, client.endpoint(c));
    }
  }
  if (tcp_) server_.accept_streams(never);
}

SimulatedPoint Sides::run() {
  start_server();
  const Instant start = ports_.port(simulation_.host_count() - 1).runtime->now();
  simulation_.world().spent() = {};  // what came before is not the operations'
  for (auto& client : clients_) client->start(start);
  if (!simulation_.world().current()->apart()) look_on();
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

void Sides::start_server() {
  Thread& own = *simulation_.world().current();
  if (own.apart()) return server_.start();
  Runtime& runtime = *ports_.port(0).runtime;
  const std::unique_ptr<StopFlag> never_raised = runtime.make_stop_flag();
  own.host().cpus().begin_used(to_ps(used_before));
  // At any time between two ticks.
  const Ps tick = own.host().costs().scheduler.tick;
  const auto late =
      static_cast<std::int64_t>(simulation_.world().rng().below(static_cast<std::uint64_t>(tick)));
  runtime.sleep_until(runtime.now() + to_duration(late), *never_raised);
  const auto spend = [&](std::chrono::microseconds time) {
    simulation_.world().current()->spend(to_ps(time), Spent::program);
    simulation_.world().current()->flush();
  };
  const SetUp& set_up = tcp_ ? over_streams : over_verbs;
  spend(start_program);
  const std::unique_ptr<StopFlag> asked = runtime.make_stop_flag();
  const std::unique_ptr<StopFlag> offered = runtime.make_stop_flag();
  const std::unique_ptr<StopFlag> connected = runtime.make_stop_flag();
  const auto setter = runtime.spawn({.name = "server", .cores = {}}, [&] {
    runtime.sleep_until(to_instant(forever), *asked);
    spend(set_up.server);
    offered->request();
    runtime.sleep_until(to_instant(forever), *connected);
    spend(set_up.connect_server);
    server_.start();
  });
  asked->request();
  runtime.sleep_until(to_instant(forever), *offered);
  spend(connect_clients);
  connected->request();
  setter->join();
}

void Sides::look_on() {
  Runtime& runtime = *ports_.port(simulation_.host_count() - 1).runtime;
  const StopFlag& over = clients_.front()->over();  // on one host there are no others
  std::uint64_t done = 0;
  unsigned in_vain = 0;
  while (in_vain < looks_in_vain && !over.requested()) {
    runtime.sleep_until(runtime.now() + look_interval, over);
    const std::uint64_t before = std::exchange(done, operations_done());
    in_vain = done == before ? in_vain + 1 : 0;
  }
}

SidesInWindow Sides::run_window(const Placement& before,
                                const std::function<WindowSchedule(Instant start)>& make) {
  const std::size_t first_worker = simulation_.threads().size();
  server_.start();
  const std::size_t first_client = simulation_.threads().size();
  Runtime& runtime = *ports_.port(simulation_.host_count() - 1).runtime;
  const Instant start = runtime.now();
  const WindowSchedule schedule = make(start);
  for (auto& client : clients_) {
    client->start([&schedule](std::uint32_t number) { return schedule.clients[number]; });
  }
  const auto server_activity = [&] {
    return activity(simulation_.threads().subspan(first_worker, first_client - first_worker));
  };
  const auto client_activity = [&] { return activity(simulation_.threads().subspan(first_client)); };
  const std::unique_ptr<StopFlag> never_raised = runtime.make_stop_flag();
  runtime.sleep_until(schedule.placed, *never_raised);
  put_into(simulation_, before);
  begin_counts(schedule.wakees, simulation_,
               simulation_.threads().subspan(first_worker, first_client - first_worker),
               simulation_.threads().subspan(first_client));
  if (schedule.moves_end > schedule.moves_begin) {
    runtime.sleep_until(schedule.moves_begin, *never_raised);
    const HurriedMoves hurried(simulation_, schedule.hurry);
    runtime.sleep_until(schedule.moves_end, *never_raised);
  }
  runtime.sleep_until(schedule.warm_up_end, *never_raised);
  const SideActivity server_before = server_activity();
  const SideActivity client_before = client_activity();
  simulation_.world().spent() = {};
  runtime.sleep_until(schedule.measured_end, *never_raised);
  SidesInWindow window;
  window.placement = placement_of(simulation_, before);
  window.server = between(server_before, server_activity());
  window.client = between(client_before, client_activity());
  window.spent = simulation_.world().spent();
  for (auto& client : clients_) merge(window.measured, client->collect(start));
  add_server(window.measured, server_.collect());
  return window;
}

std::uint64_t Sides::operations_done() const {
  std::uint64_t operations = 0;
  for (const auto& client : clients_) operations += client->operations_done();
  return operations;
}

void Sides::stop() {
  for (auto& client : clients_) client->stop();
}

}  // namespace rkv::sim
