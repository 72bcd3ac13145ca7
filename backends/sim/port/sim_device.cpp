#include "backends/sim/port/sim_device.hpp"

#include <fmt/format.h>

#include <optional>

#include "backends/sim/nic/nic.hpp"
#include "backends/sim/nic/soft.hpp"
#include "backends/sim/port/sim_memory_region.hpp"
#include "backends/sim/port/sim_queue_pair.hpp"
#include "backends/sim/port/sim_shared_receive_queue.hpp"
#include "backends/sim/port/sim_slot_watch.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

std::optional<HandOver> queue_lock_costs(const Host& host, Transport transport) {
  const Ps hand_over = host.verbs(transport).lock_hand_over;
  if (hand_over == 0) return std::nullopt;
  const HostProfile& costs = host.costs();
  return HandOver{.hand_over = hand_over,
                  .a_waiter = costs.memory.spin_waiter,
                  .remote_factor = costs.memory.remote_socket_factor,
                  .cores = costs.cpu.sockets * costs.cpu.cores_per_socket - 1};
}

}  // namespace

std::unique_ptr<Card> make_card(Fabric& fabric, const NicProfile& profile, std::uint32_t host) {
  if (profile.kind == NicProfile::Kind::soft) return std::make_unique<SoftNic>(fabric, profile, host);
  return std::make_unique<Nic>(fabric, profile, host);
}

SimDevice::SimDevice(World& world, Host& host, Card& card, const NicProfile& profile,
                     const NetworkProfile& network)
    : world_(world),
      host_(host),
      card_(card),
      profile_(profile),
      name_(sim_device_name(profile)),
      limits_(sim_device_limits(profile, network)) {}

std::string_view sim_device_name(const NicProfile& profile) {
  return profile.kind == NicProfile::Kind::soft ? "sim-soft" : "sim-rnic";
}

DeviceLimits sim_device_limits(const NicProfile& profile, const NetworkProfile& network) {
  return {.inline_bytes = profile.inline_bytes,
          .max_sge = profile.max_sge,
          .queue_depth = profile.queue_depth,
          .completion_queue_depth = profile.completion_queue_depth,
          .path_mtu_bytes = network.mtu_bytes,
          .atomics = true,
          .shared_receive_depth = profile.queue_depth};
}

std::unique_ptr<MemoryRegion> SimDevice::make_region(std::size_t bytes) {
  return std::make_unique<SimMemoryRegion>(world_, card_, bytes, std::nullopt);
}

std::unique_ptr<MemoryRegion> SimDevice::make_exposed_region(std::size_t bytes, PeerAccess access) {
  return std::make_unique<SimMemoryRegion>(world_, card_, bytes, access);
}

std::unique_ptr<CompletionQueue> SimDevice::make_completion_queue(std::uint32_t depth, bool blockable) {
  if (depth > limits_.completion_queue_depth) {
    throw Error(fmt::format("{}: completion queue of {} entries; this device has at most {}", name_, depth,
                            limits_.completion_queue_depth));
  }
  auto queue = std::make_unique<SimCompletionQueue>(*this, static_cast<std::uint32_t>(queues_.size()), depth,
                                                    blockable);
  queues_.push_back(queue.get());
  return queue;
}

std::unique_ptr<SpinLock> SimDevice::make_queue_lock(Transport transport) const {
  const auto costs = queue_lock_costs(host_, transport);
  return costs ? std::make_unique<SpinLock>(*costs) : nullptr;
}

std::unique_ptr<PollLock> SimDevice::make_poll_lock(Transport transport) const {
  const auto costs = queue_lock_costs(host_, transport);
  if (costs) return std::make_unique<PollLock>(*costs);
  return profile_.kind == NicProfile::Kind::soft ? std::make_unique<PollLock>() : nullptr;
}

std::unique_ptr<QueuePair> SimDevice::make_queue_pair(const QueuePairSpec& spec) {
  return std::make_unique<SimQueuePair>(*this, spec);
}

std::unique_ptr<SharedReceiveQueue> SimDevice::make_shared_receive_queue(std::uint32_t depth, std::uint32_t) {
  return std::make_unique<SimSharedReceiveQueue>(*this, depth);
}

std::unique_ptr<AddressHandle> SimDevice::make_address_handle(const Endpoint& peer) {
  return std::make_unique<SimAddressHandle>(to_address(peer));
}

std::unique_ptr<SlotWatch> SimDevice::watch_slots(const SlotRange& range) {
  return std::make_unique<SimSlotWatch>(card_, host_.costs().memory, range);
}

void SimDevice::raise_event(SimCompletionQueue& queue, std::uint32_t number) {
  const Ps now = world_.now();
  queue.event_since = now;
  queue.event_by = world_.cause();
  if (profile_.kind == NicProfile::Kind::soft) {
    world_.at(now + soft_event_cost(profile_, queue), *this, tag(Stage::deliver, number));
  } else if (profile_.interrupt_delay > 0) {
    world_.at(now + profile_.interrupt_delay, *this, tag(Stage::interrupt, number));
  } else {
    interrupt(queue, number);
  }
}

void SimDevice::interrupt(const SimCompletionQueue& queue, std::uint32_t number) {
  const Core* watcher = queue.core_of_watcher();
  const SchedulerProfile& costs = host_.costs().scheduler;
  Processors& cpus = host_.cpus();
  cpus.interrupt(watcher != nullptr ? *watcher : cpus.core(0), costs.interrupt, costs.wake_cost, *this,
                 tag(Stage::deliver, number));
}

void SimDevice::on_event(std::uint64_t event) {
  const auto number = static_cast<std::uint32_t>(event >> 1);
  SimCompletionQueue* queue = queues_[number];
  if (queue == nullptr) return;
  if (static_cast<Stage>(event & 1) == Stage::interrupt) return interrupt(*queue, number);
  if (profile_.kind != NicProfile::Kind::soft)
    world_.spent().add(Spent::interrupt, world_.now() - queue->event_since);
  world_.set_cause(queue->event_by);
  queue->deliver();
  world_.set_cause(nullptr);
}

}  // namespace rkv::sim
