#include "backends/verbs/control/server_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/verbs/control/connection.hpp"
#include "backends/verbs/control/messages.hpp"
#include "core/completion/waiter.hpp"
#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/message/messages.hpp"
#include "core/port/device.hpp"
#include "core/posting/send_lane.hpp"
#include "core/run/server_store.hpp"
#include "core/scenario/server_queues.hpp"
#include "core/verbs_load/client_slots.hpp"
#include "core/verbs_load/queue_group.hpp"
#include "core/workload/client_share.hpp"

namespace rkv::control {
namespace {

// A lane itself, with its counters, beside its buffers.
constexpr std::uint64_t lane_bytes = 128;
// What a request, a receive or a completion takes of its queue, as a card's drivers lay them out.
constexpr std::uint64_t queue_entry_bytes = 64;

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

namespace {

void check_store(const Scenario& scenario, const ServerLimits& limits) {
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
}

void check_verbs_load(const Scenario& scenario, const ServerLimits& limits, std::uint32_t processes) {
  const std::uint32_t clients = most_clients(scenario);
  std::uint32_t groups = 0;
  for (std::uint32_t i = 0; i < processes; ++i) {
    groups += verbs_load_groups(scenario, client_share(clients, i, processes).count);
  }
  const std::uint64_t queue_pairs = std::uint64_t{groups} * scenario.verbs.queue_pairs;
  if (largest_offers_bytes(groups, queue_pairs) > largest_frame_bytes) {
    throw Error(fmt::format("{} queue pairs asked for, and the names of so many fit into no control message",
                            queue_pairs));
  }
  const std::uint32_t receivers = verbs_load_receivers(scenario, groups);
  const std::uint32_t own_clients = scenario.verbs.both_ways ? clients : 0;
  if (receivers + own_clients > limits.max_threads) {
    throw Error(fmt::format(
        "{} threads asked for that receive and {} clients on the server's side, and this server starts no "
        "more threads than {} (--max-threads)",
        receivers, own_clients, limits.max_threads));
  }
  const std::uint64_t depth = verbs_load_send_depth(scenario, largest_group(scenario, clients));
  std::uint64_t bytes = queue_pairs * depth * queue_entry_bytes;
  bytes += std::uint64_t{own_clients} * scenario.load.window * slot_stride_bytes(scenario);
  if (scenario.verbs.sends()) {
    bytes +=
        groups * verbs_load_receives(scenario) * (queue_entry_bytes + round_to_line(scenario.verbs.bytes));
  } else {
    bytes += scenario.verbs.memory_bytes;
  }
  if (bytes > limits.max_memory_bytes) {
    throw Error(
        fmt::format("memory and queues of {} MiB asked for, and this server takes no more than {} "
                    "(--max-memory-mib)",
                    bytes >> 20, limits.max_memory_bytes >> 20));
  }
}

}  // namespace

void check_limits(const Scenario& scenario, const ServerLimits& limits, std::uint32_t processes) {
  const std::uint32_t clients = most_clients(scenario);
  if (scenario.workload == Workload::verbs) {
    check_verbs_load(scenario, limits, processes);
  } else {
    check_store(scenario, limits);
  }
  if (schedule_of(scenario.load, clients) > limits.max_duration) {
    throw Error(
        fmt::format("a point of {} s asked for, and this server allows {} s (--max-duration-s)",
                    std::chrono::ceil<std::chrono::seconds>(schedule_of(scenario.load, clients)).count(),
                    limits.max_duration.count()));
  }
}

}  // namespace rkv::control
