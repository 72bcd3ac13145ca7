#include "backends/verbs/control/server_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/completion/waiter.hpp"
#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/message/messages.hpp"
#include "core/port/device.hpp"
#include "core/posting/send_lane.hpp"
#include "core/run/server_store.hpp"
#include "core/scenario/server_queues.hpp"

namespace rkv::control {
namespace {

// A lane itself, with its counters, beside its buffers.
constexpr std::uint64_t lane_bytes = 128;

std::uint64_t round_up(std::uint64_t dividend, std::uint64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

std::uint32_t most_clients(const Scenario& scenario) {
  return *std::max_element(scenario.clients.begin(), scenario.clients.end());
}

std::uint32_t workers_for(const Scenario& scenario, std::uint32_t clients) {
  return scenario.server.workers == 0 ? clients : scenario.server.workers;
}

// From a point's start to the last client's last request.
std::chrono::nanoseconds schedule_of(const Load& load, std::uint32_t clients) {
  return load.connect_pause + (clients - 1) * load.start_stagger + load.warm_up + load.duration;
}

}  // namespace

MessageMemory message_memory(const Scenario& scenario, std::uint32_t clients) {
  const MessageFormat format(scenario.message);
  const std::uint64_t workers = workers_for(scenario, clients);
  if (scenario.transport == Transport::tcp) {
    const std::uint64_t messages = std::uint64_t{2} * scenario.load.window * clients;
    return {.requests_bytes = messages * format.largest_request_bytes(),
            .responses_bytes = (messages + workers) * format.largest_response_bytes()};
  }
  if (uses_slots(scenario.exchange)) {
    const SlotPlan plan(scenario);
    const SlotCounts slots = slot_counts(scenario, clients, static_cast<std::uint32_t>(workers));
    return {.requests_bytes = slots.requests * plan.request_slot_bytes,
            .responses_bytes = (slots.responses + slots.published) * plan.response_slot_bytes};
  }
  const bool ud = scenario.transport == Transport::ud;
  const std::uint64_t take = Waiter::largest_take(scenario.completion);
  const std::uint64_t queue_pairs = queue_pair_count(scenario, clients);
  const bool posts_for_all =
      ud && scenario.queue_pair.receive_scope == QueuePairOptions::ReceiveScope::per_client;
  const std::uint64_t receives =
      std::uint64_t{scenario.queue_pair.receive_depth} * (posts_for_all ? clients : queue_pairs) +
      workers * take;
  const std::uint64_t together = scenario.queue_pair.per_client;
  const std::uint64_t groups = group_count(scenario, clients);
  const std::uint64_t lanes = workers * round_up(queue_pairs / together, groups) * together;
  const std::uint64_t depth =
      lane_depth(ud ? static_cast<std::uint32_t>(take) : window_a_queue_pair(scenario),
                 scenario.queue_pair.signal_interval);
  return {.requests_bytes = receives * round_to_line(receive_headroom_bytes(scenario.transport) +
                                                     format.largest_request_bytes()),
          .responses_bytes = lanes * (lane_bytes + depth * round_to_line(format.largest_response_bytes()))};
}

void check_limits(const Scenario& scenario, const ServerLimits& limits) {
  if (scenario.workload == Workload::verbs) {
    throw Error(
        "/workload: verbs asked for, which has no service that a server could be: run it in one process, "
        "without --role and --server");
  }
  const std::uint32_t clients = most_clients(scenario);
  const std::uint32_t workers = workers_for(scenario, clients);
  if (workers > limits.max_threads) {
    throw Error(fmt::format("{} workers asked for, and this server starts no more than {} (--max-threads)",
                            workers, limits.max_threads));
  }
  const MessageMemory memory = message_memory(scenario, clients);
  constexpr std::uint64_t largest_region = std::numeric_limits<std::uint32_t>::max();
  if (memory.requests_bytes + memory.responses_bytes > limits.max_memory_bytes) {
    throw Error(fmt::format(
        "message buffers of {} MiB asked for, and this server takes no more than {} (--max-memory-mib)",
        (memory.requests_bytes + memory.responses_bytes) >> 20, limits.max_memory_bytes >> 20));
  }
  if (const std::uint64_t bytes = item_memory_bytes(scenario, clients); bytes > limits.max_memory_bytes) {
    throw Error(
        fmt::format("items of {} MiB asked for, and this server takes no more than {} "
                    "(--max-memory-mib)",
                    bytes >> 20, limits.max_memory_bytes >> 20));
  }
  if (scenario.transport != Transport::tcp &&
      std::max(memory.requests_bytes, memory.responses_bytes) > largest_region) {
    throw Error(fmt::format(
        "message buffers of {} MiB asked for, and registered memory is addressed with 32 bits here: ask for "
        "fewer clients, workers or receives, or smaller messages",
        std::max(memory.requests_bytes, memory.responses_bytes) >> 20));
  }
  if (schedule_of(scenario.load, clients) > limits.max_duration) {
    throw Error(
        fmt::format("a point of {} s asked for, and this server allows {} s (--max-duration-s)",
                    std::chrono::ceil<std::chrono::seconds>(schedule_of(scenario.load, clients)).count(),
                    limits.max_duration.count()));
  }
}

}  // namespace rkv::control
