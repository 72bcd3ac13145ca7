#include "core/verbs_load/verbs_load_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/workload/operation_stream.hpp"

namespace rkv {

VerbsLoadSide::VerbsLoadSide(const Port& port, const Scenario& scenario, Role role,
                             std::vector<ClientShare> shares)
    : port_(port),
      scenario_(scenario),
      role_(role),
      shares_(std::move(shares)),
      stop_(port.runtime->make_stop_flag()),
      stop_receiving_(port.runtime->make_stop_flag()) {
  if (!scenario_.verbs.sends()) {
    memory_ = port_.device->make_exposed_region(scenario_.verbs.memory_bytes, PeerAccess::all);
    // A READ that is watched is seen by a byte that is not 0.
    std::fill(memory_->bytes().begin(), memory_->bytes().end(), std::byte{0xff});
  }
  for (const ClientShare& share : shares_) make_groups(share);
  const bool receives = role_ == Role::server || scenario_.verbs.both_ways;
  if (scenario_.verbs.sends() && receives) make_receivers();
}

VerbsLoadSide::~VerbsLoadSide() {
  stop();
  stop_receiving_->request();
}

// Client i of the share is of its group i % count: none has two members more than another.
void VerbsLoadSide::make_groups(const ClientShare& share) {
  const std::uint32_t first = groups();
  const std::uint32_t count = groups_of(share);
  for (std::uint32_t g = 0; g < count; ++g) {
    groups_.push_back(
        {.queues = std::make_unique<QueueGroup>(port_, scenario_, (share.count - g + count - 1) / count),
         .target = {}});
  }
  if (role_ == Role::server && !scenario_.verbs.both_ways) return;  // its queue pairs only answer
  for (std::uint32_t i = 0; i < share.count; ++i) {
    Member& member = *members_.emplace_back(std::make_unique<Member>());
    member.number = share.first + i;
    member.group = first + i % count;
    member.client = std::make_unique<VerbsLoadClient>(
        port_, scenario_, *stop_, *groups_[member.group].queues,
        VerbsLoadClient::Place{
            .client = role_ == Role::server ? share.of + member.number : member.number,
            .member = i / count,
            .operations = share_of(scenario_.load.total_operations, member.number, share.of)},
        member.operations);
  }
}

void VerbsLoadSide::make_receivers() {
  const std::uint32_t workers = verbs_load_receivers(scenario_, groups());
  for (std::uint32_t w = 0; w < workers; ++w) {
    std::vector<QueueGroup*> own;
    for (std::uint32_t g = w; g < groups(); g += workers) own.push_back(groups_[g].queues.get());
    Receiving& receiving = receivers_.emplace_back();
    receiving.receiver = std::make_unique<Receiver>(port_, scenario_, *stop_receiving_, own);
    receiving.cores =
        role_ == Role::server ? cores_of_thread(scenario_.server, w) : cores_of_thread(scenario_.client, w);
  }
}

std::uint32_t VerbsLoadSide::groups_of(const ClientShare& share) const {
  return verbs_load_groups(scenario_, share.count);
}

std::uint32_t VerbsLoadSide::first_group_of(const ClientShare& share) const {
  std::uint32_t first = 0;
  for (const ClientShare& another : shares_) {
    if (another.first < share.first) first += groups_of(another);
  }
  return first;
}

Endpoint VerbsLoadSide::endpoint(std::uint32_t group) const {
  Endpoint endpoint = groups_[group].queues->endpoint();
  if (memory_) endpoint.memory = memory_->remote();
  return endpoint;
}

void VerbsLoadSide::connect(std::uint32_t group, const Endpoint& peer) {
  groups_[group].queues->connect(peer);
  groups_[group].target = peer.memory;
}

void VerbsLoadSide::start_receivers() {
  std::uint32_t number = 0;
  for (Receiving& receiving : receivers_) {
    receiving.thread =
        port_.runtime->spawn({.name = fmt::format("receiver {}", number++), .cores = receiving.cores},
                             [&receiver = *receiving.receiver] { receiver.run(); });
  }
}

void VerbsLoadSide::start_clients(Instant start) {
  for (const auto& each : members_) {
    Member& member = *each;
    const VerbsLoadClient::Target target{.memory = groups_[member.group].target,
                                         .bytes = scenario_.verbs.memory_bytes};
    member.thread = port_.runtime->spawn(
        {.name = fmt::format("{} {}", role_ == Role::server ? "server" : "client", member.number),
         .cores = cores_of_thread(scenario_.client, member.number)},
        [&member, schedule = load_schedule(scenario_.load, member.number, shares_.front().of, start),
         target] {
          member.client->run(schedule, target);
          member.finished.store(true, std::memory_order_release);
        });
  }
}

void VerbsLoadSide::stop() {
  stop_->request();
}

std::uint64_t VerbsLoadSide::operations_done() const {
  std::uint64_t operations = 0;
  for (const auto& member : members_) operations += member->operations.load(std::memory_order_relaxed);
  return operations;
}

bool VerbsLoadSide::finished() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->finished.load(std::memory_order_acquire); });
}

std::uint64_t VerbsLoadSide::messages_received() const {
  std::uint64_t messages = 0;
  for (const Receiving& receiving : receivers_) messages += receiving.receiver->received();
  return messages;
}

PointResult VerbsLoadSide::collect_clients(Instant epoch) {
  PointResult point;
  point.clients = static_cast<std::uint32_t>(members_.size());
  const Method method =
      scenario_.verbs.operation == VerbsOptions::Operation::read ? Method::get : Method::set;
  for (const auto& member : members_) {
    member->thread->join();
    const VerbsLoadMeasurement& measured = member->client->measurement();
    MeasuredWindow window;
    if (measured.operations > 0) {
      window.include(measured.first - epoch, measured.last - epoch);
      point.window.merge(window);
    }
    ClientResult& client =
        point.per_client.emplace_back(client_result(member->number, measured.latency, window));
    client.throughput_ops_s *= measured.latency.empty() ? 0
                                                        : static_cast<double>(measured.operations) /
                                                              static_cast<double>(measured.latency.count());
    client.operations = measured.operations;
    point.latency.merge(measured.latency);
    point.operations.add(method, ResponseCode::ok, measured.operations);
    point.client.add(measured.usage);
    if (!measured.complete && point.partial_reason.empty()) {
      point.partial_reason = fmt::format("client {}: {}", member->number, measured.reason);
    }
  }
  return point;
}

VerbsLoadSide::Returned VerbsLoadSide::collect_other_way() {
  stop();
  const PointResult point = collect_clients({});
  Returned returned{.usage = point.client, .other_way = std::nullopt};
  if (scenario_.verbs.both_ways) {
    returned.other_way = {.operations = point.operations.total(), .measured = point.window.length()};
  }
  return returned;
}

VerbsLoadSide::Received VerbsLoadSide::collect_receivers() {
  stop_receiving_->request();
  Received received;
  for (Receiving& receiving : receivers_) {
    receiving.thread->join();
    received.usage.add(receiving.receiver->usage());
    received.messages += receiving.receiver->received();
    if (!receiving.receiver->failure().empty() && received.failure.empty()) {
      received.failure = fmt::format("a receive failed: {}", receiving.receiver->failure());
    }
  }
  return received;
}

}  // namespace rkv
