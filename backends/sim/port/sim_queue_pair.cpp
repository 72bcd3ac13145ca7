#include "backends/sim/port/sim_queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backends/sim/cpu/backoff_lock.hpp"
#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/nic/pcie.hpp"
#include "backends/sim/port/post_receives.hpp"
#include "backends/sim/port/sim_completion_queue.hpp"
#include "backends/sim/port/sim_device.hpp"
#include "backends/sim/port/sim_memory_region.hpp"
#include "backends/sim/port/sim_shared_receive_queue.hpp"
#include "core/error.hpp"

namespace rkv::sim {
namespace {

constexpr std::size_t host_in_gid = 12;

SimCompletionQueue& own(const SimDevice& device, CompletionQueue* queue) {
  auto* sim_queue = dynamic_cast<SimCompletionQueue*>(queue);
  if (sim_queue == nullptr || &sim_queue->device() != &device) {
    throw Error(
        fmt::format("{}: queue pair: it needs completion queues of the same device", device.device_name()));
  }
  return *sim_queue;
}

void require(const SimDevice& device, std::string_view what, std::uint32_t wanted, std::uint32_t limit) {
  if (wanted > limit) {
    throw Error(fmt::format("{}: queue pair: {} {}; this device has at most {}", device.device_name(), wanted,
                            what, limit));
  }
}

}  // namespace

Endpoint to_endpoint(const Address& address, std::uint32_t mtu_bytes) {
  Endpoint endpoint;
  endpoint.queue_pair = address.queue_pair;
  endpoint.path_mtu_bytes = mtu_bytes;
  for (std::size_t i = 0; i < sizeof address.host; ++i) {
    endpoint.gid[host_in_gid + i] = static_cast<std::uint8_t>(address.host >> (8 * (3 - i)));
  }
  return endpoint;
}

Address to_address(const Endpoint& endpoint) {
  Address address{.host = 0, .queue_pair = endpoint.queue_pair};
  for (std::size_t i = 0; i < sizeof address.host; ++i) {
    address.host = address.host << 8 | endpoint.gid[host_in_gid + i];
  }
  return address;
}

SimQueuePair::SimQueuePair(SimDevice& device, const QueuePairSpec& spec)
    : device_(device), transport_(spec.transport), inline_bytes_(spec.inline_bytes) {
  if (transport_ == Transport::tcp) {
    throw Error(fmt::format("{}: queue pair: TCP has none; use a stream", device.device_name()));
  }
  const DeviceLimits& limits = device.limits();
  require(device, "sends", spec.send_depth, limits.queue_depth);
  require(device, "receives", spec.receive_depth, limits.queue_depth);
  require(device, "scatter/gather entries", spec.max_sge, limits.max_sge);
  require(device, "bytes inline", spec.inline_bytes, limits.inline_bytes);
  SimCompletionQueue& sends = own(device, spec.send_completions);
  SimCompletionQueue& receives = own(device, spec.receive_completions);
  lock_ = device.make_queue_lock(transport_);
  sends.attach_sends(transport_);
  watches_ = !sends.blockable();
  receives.attach_receives(transport_);
  setup_ = {.transport = transport_,
            .send_completions = &sends,
            .receive_completions = &receives,
            .send_depth = spec.send_depth,
            .receive_depth = spec.receive_depth,
            .shared_receives = spec.shared_receives == nullptr
                                   ? nullptr
                                   : &static_cast<SimSharedReceiveQueue&>(*spec.shared_receives).slots(),
            .max_sge = spec.max_sge,
            .one_sided = spec.one_sided};
  number_ = device.card().make_queue_pair(setup_);
}

SimQueuePair::~SimQueuePair() {
  device_.card().destroy_queue_pair(number_);
}

Endpoint SimQueuePair::endpoint() const {
  return to_endpoint({.host = device_.card().host(), .queue_pair = number_}, device_.limits().path_mtu_bytes);
}

void SimQueuePair::connect(const Endpoint& peer) {
  device_.card().connect(number_, to_address(peer));
}

void SimQueuePair::fail() {
  device_.card().fail(number_);
}

void SimQueuePair::reset() {
  device_.card().destroy_queue_pair(number_);
  number_ = device_.card().make_queue_pair(setup_);
}

bool SimQueuePair::possible(const SendRequest& request) const {
  const auto& region = static_cast<const SimMemoryRegion&>(*request.region);
  if (request.inlined && request.length > inline_bytes_) return false;
  if (!region.holds(request.offset, request.length)) return false;
  if (!is_well_formed(request, transport_) || (request.watched && !watches_)) return false;
  if (transport_ != Transport::ud) return true;
  return request.destination != nullptr && request.length <= device_.limits().path_mtu_bytes;
}

int SimQueuePair::post_sends(std::span<const SendRequest> requests) {
  if (requests.empty() || requests.size() > most_chained) return EINVAL;
  if (!std::all_of(requests.begin(), requests.end(), [this](const auto& one) { return possible(one); })) {
    return EINVAL;
  }
  std::uint32_t chained_bytes = 0;
  for (const SendRequest& request : requests.subspan(1)) {
    chained_bytes += request_bytes + (request.inlined ? request.length : 0);
  }
  Card& card = device_.card();
  std::array<std::uint32_t, most_chained> messages{};
  std::size_t posted = 0;
  int refusal = 0;
  for (const SendRequest& request : requests) {
    const auto& region = static_cast<const SimMemoryRegion&>(*request.region);
    SendWork work;
    work.id = request.id;
    work.operation = request.operation;
    work.bytes = region.bytes().subspan(request.offset, request.length);
    work.address = region.address(request.offset);
    work.signalled = request.signalled;
    work.watched = request.watched;
    work.inlined = request.inlined;
    work.remote = request.remote;
    work.immediate = request.immediate;
    work.operand = request.operand;
    work.swap = request.swap;
    work.follows = posted > 0;
    work.chained_bytes = posted > 0 ? 0 : chained_bytes;
    if (transport_ == Transport::ud) {
      work.to = static_cast<const SimAddressHandle&>(*request.destination).address();
    }
    const Card::Posted one = card.post_send(number_, work);
    refusal = one.refusal;
    if (refusal != 0) break;
    messages[posted++] = one.message;
  }
  if (posted == 0) return refusal;
  Thread& thread = *device_.world().current();
  const VerbsProfile& costs = device_.host().verbs(transport_);
  if (lock_) lock_->lock(thread);
  BackoffLock* const sends = card.sender_lock(number_);
  if (sends != nullptr) sends->lock(thread);
  thread.spend(costs.post_send + static_cast<Ps>(posted - 1) * costs.post_chained, Spent::post);
  for (const std::uint32_t message : std::span(messages).first(posted)) {
    BackoffLock* const receives = card.receiver_lock(message);
    if (receives != nullptr) receives->lock(thread);
    thread.record(card, Card::ring_tag(message));
    if (receives != nullptr) receives->unlock(thread);
  }
  if (sends != nullptr) sends->unlock(thread);
  if (lock_) lock_->unlock(thread);
  if (sends != nullptr) thread.record(card, Card::end_post_tag());
  return refusal;
}

int SimQueuePair::post_receives(std::span<const ReceiveRequest> requests) {
  return post_receives_to(device_, transport_, requests, [this](const ReceiveSlot& receive) {
    return device_.card().post_receive(number_, receive);
  });
}

}  // namespace rkv::sim
