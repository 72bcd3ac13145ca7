#include "core/one_sided/one_sided_point.hpp"

#include <algorithm>
#include <string>

#include "core/workload/operation_stream.hpp"

namespace rkv {

struct OneSidedPoint::Side {
  // A client; where none is to run, its group's queue pairs only answer.
  struct Member {
    alignas(64) std::atomic<std::uint64_t> operations{0};
    std::atomic<bool> finished{false};
    std::unique_ptr<OneSidedClient> client;
    std::unique_ptr<Thread> thread;  // last: joined before what it uses is destroyed
  };

  Side(const Port& its_port, const Scenario& scenario, std::uint32_t clients, std::uint32_t first, bool runs)
      : port(its_port), active(runs), stop(its_port.runtime->make_stop_flag()) {
    memory = port.device->make_exposed_region(scenario.one_sided.memory_bytes);
    // A READ that is watched is seen by a byte that is not 0.
    std::fill(memory->bytes().begin(), memory->bytes().end(), std::byte{0xff});
    // Client i is of group i % groups: none has two members more than another.
    const std::uint32_t of_group = largest_group(scenario, clients);
    const std::uint32_t count = (clients + of_group - 1) / of_group;
    for (std::uint32_t g = 0; g < count; ++g) {
      groups.push_back(std::make_unique<QueueGroup>(port, scenario, (clients - g + count - 1) / count));
    }
    for (std::uint32_t i = 0; i < clients; ++i) {
      Member& member = *members.emplace_back(std::make_unique<Member>());
      member.client = std::make_unique<OneSidedClient>(
          port, scenario, *stop, *groups[i % count],
          OneSidedClient::Place{.client = first + i,
                                .member = i / count,
                                .operations = share_of(scenario.load.total_operations, i, clients)},
          member.operations);
    }
  }

  const Port port;
  const bool active;
  std::unique_ptr<StopFlag> stop;
  std::unique_ptr<MemoryRegion> memory;
  std::vector<std::unique_ptr<QueueGroup>> groups;
  std::vector<std::unique_ptr<Member>> members;
};

OneSidedPoint::OneSidedPoint(const Port& clients_port, const Port& servers_port, const Scenario& scenario,
                             std::uint32_t clients)
    : scenario_(scenario),
      clients_(clients),
      clients_side_(std::make_unique<Side>(clients_port, scenario_, clients, 0, true)),
      servers_side_(
          std::make_unique<Side>(servers_port, scenario_, clients, clients, scenario_.one_sided.both_ways)) {
  for (std::size_t g = 0; g < clients_side_->groups.size(); ++g) {
    for (std::uint32_t q = 0; q < scenario_.one_sided.queue_pairs; ++q) {
      QueuePair& here = clients_side_->groups[g]->queue_pair(q);
      QueuePair& there = servers_side_->groups[g]->queue_pair(q);
      here.connect(there.endpoint());
      there.connect(here.endpoint());
    }
  }
}

OneSidedPoint::~OneSidedPoint() {
  stop();
}

void OneSidedPoint::start(Instant start) {
  for (Side* side : {clients_side_.get(), servers_side_.get()}) {
    if (!side->active) continue;
    const Side& other = side == clients_side_.get() ? *servers_side_ : *clients_side_;
    const OneSidedClient::Target target{.memory = other.memory->remote(),
                                        .bytes = scenario_.one_sided.memory_bytes};
    const bool reported = side == clients_side_.get();
    for (std::uint32_t i = 0; i < clients_; ++i) {
      Side::Member& member = *side->members[i];
      member.thread = side->port.runtime->spawn(
          {.name = (reported ? "client " : "server ") + std::to_string(i),
           .cores = cores_of_thread(scenario_.client, i)},
          [&member, schedule = load_schedule(scenario_.load, i, clients_, start), target] {
            member.client->run(schedule, target);
            member.finished.store(true, std::memory_order_release);
          });
    }
  }
}

void OneSidedPoint::stop() {
  clients_side_->stop->request();
  servers_side_->stop->request();
}

std::uint64_t OneSidedPoint::operations_done() const {
  std::uint64_t operations = 0;
  for (const auto& member : clients_side_->members) {
    operations += member->operations.load(std::memory_order_relaxed);
  }
  return operations;
}

bool OneSidedPoint::finished() const {
  return std::all_of(clients_side_->members.begin(), clients_side_->members.end(),
                     [](const auto& member) { return member->finished.load(std::memory_order_acquire); });
}

PointResult OneSidedPoint::collect(Instant epoch) {
  PointResult point;
  point.clients = clients_;
  const Method method =
      scenario_.one_sided.operation == OneSidedOptions::Operation::read ? Method::get : Method::set;
  for (std::uint32_t i = 0; i < clients_; ++i) {
    clients_side_->members[i]->thread->join();
    const OneSidedMeasurement& measured = clients_side_->members[i]->client->measurement();
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
  return point;
}

}  // namespace rkv
