#include "core/run/device_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/message/messages.hpp"
#include "core/run/server_store.hpp"
#include "core/scenario/server_queues.hpp"
#include "core/verbs_load/queue_group.hpp"

namespace rkv {
namespace {

std::uint32_t most_clients(const Scenario& scenario) {
  return *std::max_element(scenario.clients.begin(), scenario.clients.end());
}

// What a scenario asks for beyond the device, a line each.
class Refusals {
 public:
  void add(const char* pointer, const std::string& what) {
    text_ += fmt::format("\n  {}: {}", pointer, what);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void check_requests(const QueuePairOptions& options, const DeviceLimits& limits, Refusals& refusals) {
  if (options.inline_bytes > limits.inline_bytes) {
    refusals.add("/queue_pair/inline_bytes", fmt::format("{} bytes, and {} inline is the device's most",
                                                         options.inline_bytes, limits.inline_bytes));
  }
  if (options.max_sge > limits.max_sge) {
    refusals.add("/queue_pair/max_sge",
                 fmt::format("{}, and {} is the device's most", options.max_sge, limits.max_sge));
  }
}

void check_messages(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  const MessageFormat format(scenario.message);
  std::uint32_t largest = 0;  // that goes over UD
  if (scenario.transport == Transport::ud) {
    largest = std::max(format.largest_request_bytes(), format.largest_response_bytes());
  } else if (scenario.exchange == Exchange::write_send) {
    largest = format.largest_response_bytes();
  }
  if (largest > limits.path_mtu_bytes) {
    refusals.add("/message",
                 fmt::format("messages of up to {} bytes, and UD takes no more than the path MTU of {}",
                             largest, limits.path_mtu_bytes));
  }
}

void check_receives(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  const QueuePairOptions& options = scenario.queue_pair;
  const bool posts_for_all = scenario.transport == Transport::ud &&
                             options.receive_scope == QueuePairOptions::ReceiveScope::per_client;
  const std::uint64_t receives =
      std::uint64_t{options.receive_depth} *
      (posts_for_all
           ? (most_clients(scenario) + scenario.server.ud_queue_pairs - 1) / scenario.server.ud_queue_pairs
           : 1);
  if (receives > limits.queue_depth) {
    refusals.add("/queue_pair/receive_depth",
                 fmt::format("{} receives on one queue pair, and {} is the device's most", receives,
                             limits.queue_depth));
  }
}

void check_shared_receives(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  if (limits.shared_receive_depth == 0) {
    refusals.add("/queue_pair/shared_receive_queue", "a shared receive queue, which it has not");
    return;
  }
  const std::uint32_t most = std::min(limits.shared_receive_depth, limits.completion_queue_depth);
  const std::uint64_t receives = shared_receives(scenario, most_clients(scenario));
  if (receives <= most) return;
  refusals.add("/queue_pair/receive_depth",
               fmt::format("{} receives of a shared receive queue, and {} is the device's most, since one "
                           "completion queue must have room for all",
                           receives, most));
}

// Depths are sums of two fields; the one named is what most of it comes from. Each client of a group has a
// window of its own.
void check_verbs_load_depths(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  const std::uint32_t members = largest_group(scenario, most_clients(scenario));
  const std::uint64_t window = std::uint64_t{members} * scenario.load.window;
  const std::uint32_t interval = scenario.queue_pair.signal_interval;
  const std::uint32_t queue_pairs = scenario.verbs.queue_pairs;
  if (const std::uint64_t depth = verbs_load_send_depth(scenario, members); depth > limits.queue_depth) {
    refusals.add(window > 2 * interval ? "/load/window" : "/queue_pair/signal_interval",
                 fmt::format("a window of {} with a signal_interval of {} takes {} requests on one queue "
                             "pair, and {} is the device's most",
                             window, interval, depth, limits.queue_depth));
  }
  if (const std::uint64_t depth = verbs_load_completion_depth(scenario, members);
      depth > limits.completion_queue_depth) {
    refusals.add(window > queue_pairs ? "/load/window" : "/verbs/queue_pairs",
                 fmt::format("a window of {} over {} queue pairs takes {} completions in one queue, and {} "
                             "is the device's most",
                             window, queue_pairs, depth, limits.completion_queue_depth));
  }
}

void check_verbs_load_receives(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  check_receives(scenario, limits, refusals);
  const std::uint64_t completions = verbs_load_receives(scenario);
  if (completions > limits.completion_queue_depth) {
    refusals.add("/queue_pair/receive_depth",
                 fmt::format("{} queue pairs with {} receives each take {} completions in one queue, and {} "
                             "is the device's most",
                             scenario.verbs.queue_pairs, scenario.queue_pair.receive_depth, completions,
                             limits.completion_queue_depth));
  }
}

void check_items(const Scenario& scenario, Refusals& refusals) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t bytes = item_memory_bytes(scenario, most_clients(scenario));
  if (bytes > most) {
    refusals.add("/keys/count", fmt::format("items of {} MiB, and what clients READ is addressed with 32 "
                                            "bits here: take fewer or smaller ones",
                                            bytes >> 20));
  }
}

void check_slot_depths(const Scenario& scenario, const DeviceLimits& limits, Refusals& refusals) {
  const std::uint32_t clients = most_clients(scenario);
  const std::uint32_t workers = worker_count(scenario, clients);
  const char* const most_of_it = scenario.load.window > scenario.queue_pair.signal_interval
                                     ? "/load/window"
                                     : "/queue_pair/signal_interval";
  if (const std::uint64_t depth = slot_send_depth(scenario); depth > limits.queue_depth) {
    refusals.add(most_of_it, fmt::format("{} requests on one queue pair, and {} is the device's most", depth,
                                         limits.queue_depth));
  }
  const std::uint32_t a_worker = (clients + workers - 1) / workers;
  if (const std::uint64_t depth = slot_completion_depth(scenario, a_worker);
      depth > limits.completion_queue_depth) {
    refusals.add(
        "/server/workers",
        fmt::format("a worker's {} clients take {} completions in one queue, and {} is the device's most",
                    a_worker, depth, limits.completion_queue_depth));
  }
  if (const std::uint64_t depth = slot_receive_completion_depth(scenario, a_worker);
      depth > limits.completion_queue_depth) {
    refusals.add(
        "/queue_pair/receive_depth",
        fmt::format("a worker's {} clients take {} receives in one completion queue, and {} is the device's "
                    "most",
                    a_worker, depth, limits.completion_queue_depth));
  }
}

}  // namespace

void check_against_device(const Scenario& scenario, const Device& device, const std::string& source) {
  check_against_device(scenario, device.device_name(), device.limits(), source);
}

void check_against_device(const Scenario& scenario, std::string_view device, const DeviceLimits& limits,
                          const std::string& source) {
  if (scenario.transport == Transport::tcp) return;
  Refusals refusals;
  check_requests(scenario.queue_pair, limits, refusals);
  if (scenario.workload == Workload::verbs) {
    check_verbs_load_depths(scenario, limits, refusals);
    if (scenario.verbs.sends()) check_verbs_load_receives(scenario, limits, refusals);
    if (scenario.verbs.atomic() && !limits.atomics) {
      refusals.add("/verbs/operation", "an atomic operation, which it has not");
    }
  } else {
    if (uses_slots(scenario.exchange)) check_slot_depths(scenario, limits, refusals);
    check_items(scenario, refusals);
    check_messages(scenario, limits, refusals);
    check_receives(scenario, limits, refusals);
    if (scenario.queue_pair.shared_receive_queue) check_shared_receives(scenario, limits, refusals);
  }
  if (!refusals.text().empty()) {
    throw InputError(fmt::format("{}: the device {} can't do this:{}", source, device, refusals.text()));
  }
}

}  // namespace rkv
