#include "core/verbs_load/verbs_load_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/verbs_load/receiver.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv {

struct VerbsLoadPoint::Side {
  // A client; where none is to run, its group's queue pairs only answer.
  struct Member {
    alignas(64) std::atomic<std::uint64_t> operations{0};
    std::atomic<bool> finished{false};
    std::unique_ptr<VerbsLoadClient> client;
    std::unique_ptr<Thread> thread;  // last: joined before what it uses is destroyed
  };

  struct Receiving {
    std::unique_ptr<Receiver> receiver;
    std::vector<int> cores;
    std::unique_ptr<Thread> thread;
  };

  // runs: it has clients; receives: the other side's SENDs.
  struct Role {
    bool of_server = false;
    bool runs = true;
    bool receives = false;
  };
  Side(const Port& its_port, const Scenario& scenario, std::uint32_t clients, const Role& its_role)
      : port(its_port),
        role(its_role),
        stop(its_port.runtime->make_stop_flag()),
        stop_receiving(its_port.runtime->make_stop_flag()) {
    if (!scenario.verbs.sends()) {
      memory = port.device->make_exposed_region(scenario.verbs.memory_bytes, PeerAccess::all);
      // A READ that is watched is seen by a byte that is not 0.
      std::fill(memory->bytes().begin(), memory->bytes().end(), std::byte{0xff});
    }
    // Client i is of group i % groups: none has two members more than another.
    const std::uint32_t of_group = largest_group(scenario, clients);
    const std::uint32_t count = (clients + of_group - 1) / of_group;
    for (std::uint32_t g = 0; g < count; ++g) {
      groups.push_back(std::make_unique<QueueGroup>(port, scenario, (clients - g + count - 1) / count));
    }
    for (std::uint32_t i = 0; i < clients; ++i) {
      Member& member = *members.emplace_back(std::make_unique<Member>());
      member.client = std::make_unique<VerbsLoadClient>(
          port, scenario, *stop, *groups[i % count],
          VerbsLoadClient::Place{.client = role.of_server ? clients + i : i,
                                 .member = i / count,
                                 .operations = share_of(scenario.load.total_operations, i, clients)},
          member.operations);
    }
    if (role.receives) make_receivers(scenario);
  }

  void make_receivers(const Scenario& scenario) {
    const auto count = static_cast<std::uint32_t>(groups.size());
    const std::uint32_t workers = scenario.server.workers == 0 ? count : scenario.server.workers;
    for (std::uint32_t w = 0; w < std::min(workers, count); ++w) {
      std::vector<QueueGroup*> own;
      for (std::uint32_t g = w; g < count; g += workers) own.push_back(groups[g].get());
      Receiving& receiving = receivers.emplace_back();
      receiving.receiver = std::make_unique<Receiver>(port, scenario, *stop_receiving, own);
      receiving.cores =
          role.of_server ? cores_of_thread(scenario.server, w) : cores_of_thread(scenario.client, w);
    }
  }

  const Port port;
  const Role role;
  std::unique_ptr<StopFlag> stop;
  std::unique_ptr<StopFlag> stop_receiving;
  std::unique_ptr<MemoryRegion> memory;  // null: nobody reads or writes it
  std::vector<std::unique_ptr<QueueGroup>> groups;
  std::vector<Receiving> receivers;
  std::vector<std::unique_ptr<Member>> members;
};

VerbsLoadPoint::VerbsLoadPoint(const Port& clients_port, const Port& servers_port, const Scenario& scenario,
                               std::uint32_t clients)
    : scenario_(scenario),
      clients_(clients),
      clients_side_(std::make_unique<Side>(
          clients_port, scenario_, clients,
          Side::Role{.of_server = false,
                     .runs = true,
                     .receives = scenario_.verbs.sends() && scenario_.verbs.both_ways})),
      servers_side_(std::make_unique<Side>(
          servers_port, scenario_, clients,
          Side::Role{
              .of_server = true, .runs = scenario_.verbs.both_ways, .receives = scenario_.verbs.sends()})) {
  for (std::size_t g = 0; g < clients_side_->groups.size(); ++g) {
    for (std::uint32_t q = 0; q < scenario_.verbs.queue_pairs; ++q) {
      QueuePair& here = clients_side_->groups[g]->queue_pair(q);
      QueuePair& there = servers_side_->groups[g]->queue_pair(q);
      here.connect(there.endpoint());
      there.connect(here.endpoint());
    }
  }
}

VerbsLoadPoint::~VerbsLoadPoint() {
  stop();
  clients_side_->stop_receiving->request();
  servers_side_->stop_receiving->request();
}

void VerbsLoadPoint::start(Instant start) {
  for (Side* side : {clients_side_.get(), servers_side_.get()}) start_receivers(*side);
  start_clients(*clients_side_, *servers_side_, start);
  start_clients(*servers_side_, *clients_side_, start);
}

void VerbsLoadPoint::start_receivers(Side& side) {
  std::uint32_t number = 0;
  for (Side::Receiving& receiving : side.receivers) {
    receiving.thread =
        side.port.runtime->spawn({.name = "receiver " + std::to_string(number++), .cores = receiving.cores},
                                 [&receiver = *receiving.receiver] { receiver.run(); });
  }
}

void VerbsLoadPoint::start_clients(Side& side, Side& other, Instant start) {
  if (!side.role.runs) return;
  VerbsLoadClient::Target target;
  if (other.memory) target = {.memory = other.memory->remote(), .bytes = scenario_.verbs.memory_bytes};
  for (std::uint32_t i = 0; i < clients_; ++i) {
    Side::Member& member = *side.members[i];
    member.thread = side.port.runtime->spawn(
        {.name = (side.role.of_server ? "server " : "client ") + std::to_string(i),
         .cores = cores_of_thread(scenario_.client, i)},
        [&member, schedule = load_schedule(scenario_.load, i, clients_, start), target] {
          member.client->run(schedule, target);
          member.finished.store(true, std::memory_order_release);
        });
  }
}

void VerbsLoadPoint::stop() {
  clients_side_->stop->request();
  servers_side_->stop->request();
}

std::uint64_t VerbsLoadPoint::operations_done() const {
  std::uint64_t operations = 0;
  for (const auto& member : clients_side_->members) {
    operations += member->operations.load(std::memory_order_relaxed);
  }
  return operations;
}

bool VerbsLoadPoint::finished() const {
  return std::all_of(clients_side_->members.begin(), clients_side_->members.end(),
                     [](const auto& member) { return member->finished.load(std::memory_order_acquire); });
}

PointResult VerbsLoadPoint::collect(Instant epoch) {
  PointResult point;
  point.clients = clients_;
  const Method method =
      scenario_.verbs.operation == VerbsOptions::Operation::read ? Method::get : Method::set;
  for (std::uint32_t i = 0; i < clients_; ++i) {
    clients_side_->members[i]->thread->join();
    const VerbsLoadMeasurement& measured = clients_side_->members[i]->client->measurement();
    MeasuredWindow window;
    if (measured.operations > 0) {
      window.include(measured.first - epoch, measured.last - epoch);
      point.window.merge(window);
    }
    ClientResult& client = point.per_client.emplace_back(client_result(i, measured.latency, window));
    client.throughput_ops_s *= measured.latency.empty() ? 0
                                                        : static_cast<double>(measured.operations) /
                                                              static_cast<double>(measured.latency.count());
    client.operations = measured.operations;
    point.latency.merge(measured.latency);
    point.operations.add(method, ResponseCode::ok, measured.operations);
    point.client.add(measured.usage);
    if (!measured.complete && point.partial_reason.empty()) {
      point.partial_reason = "client " + std::to_string(i) + ": " + measured.reason;
    }
  }
  // The other side has no quota of its own to wait for: the point is over.
  servers_side_->stop->request();
  for (const auto& member : servers_side_->members) {
    if (!member->thread) continue;
    member->thread->join();
    point.server.add(member->client->measurement().usage);
  }
  for (Side* side : {clients_side_.get(), servers_side_.get()}) {
    side->stop_receiving->request();
    SideUsage& usage = side == clients_side_.get() ? point.client : point.server;
    for (Side::Receiving& receiving : side->receivers) {
      receiving.thread->join();
      usage.add(receiving.receiver->usage());
      if (side == servers_side_.get()) point.server_work.served += receiving.receiver->received();
      if (!receiving.receiver->failure().empty() && point.partial_reason.empty()) {
        point.partial_reason = fmt::format("a receive failed: {}", receiving.receiver->failure());
      }
    }
  }
  return point;
}

}  // namespace rkv
