#include "core/verbs_load/queue_group.hpp"

#include <algorithm>

#include "core/completion/waiter.hpp"

namespace rkv {

// What a batch has under way beside the slots: its signalled request, and those that nobody watches.
std::uint64_t verbs_load_send_depth(const Scenario& scenario, std::uint32_t members) {
  return std::uint64_t{members} * scenario.load.window + 2 * scenario.queue_pair.signal_interval;
}

std::uint64_t verbs_load_completion_depth(const Scenario& scenario, std::uint32_t members) {
  return std::uint64_t{members} * scenario.load.window + scenario.verbs.queue_pairs;
}

std::uint64_t verbs_load_receives(const Scenario& scenario) {
  if (!scenario.verbs.sends()) return 0;
  return std::uint64_t{scenario.verbs.queue_pairs} * scenario.queue_pair.receive_depth;
}

std::uint32_t largest_group(const Scenario& scenario, std::uint32_t clients) {
  return std::min(scenario.verbs.clients_a_queue_pair, clients);
}

std::uint32_t verbs_load_groups(const Scenario& scenario, std::uint32_t clients) {
  if (clients == 0) return 0;
  const std::uint32_t largest = largest_group(scenario, clients);
  return (clients + largest - 1) / largest;
}

std::uint32_t verbs_load_receivers(const Scenario& scenario, std::uint32_t groups) {
  if (!scenario.verbs.sends()) return 0;
  return scenario.server.workers == 0 ? groups : std::min(scenario.server.workers, groups);
}

void EndBox::put(std::uint32_t slot, CompletionStatus status) {
  ends_[slot].store(static_cast<int>(status), std::memory_order_release);
  waiting_.fetch_add(1, std::memory_order_release);
}

QueueGroup::QueueGroup(const Port& port, const Scenario& scenario, std::uint32_t members)
    : completions_(port.device->make_completion_queue(
          static_cast<std::uint32_t>(verbs_load_completion_depth(scenario, members)),
          Waiter::blocks(client_policy(scenario)))) {
  const bool sends = scenario.verbs.sends();
  if (sends) {
    receives_ = port.device->make_completion_queue(static_cast<std::uint32_t>(verbs_load_receives(scenario)),
                                                   Waiter::blocks(scenario.completion));
  }
  for (std::uint32_t i = 0; i < scenario.verbs.queue_pairs; ++i) {
    pairs_.push_back(port.device->make_queue_pair(
        {.transport = scenario.transport,
         .send_completions = completions_.get(),
         .receive_completions = sends ? receives_.get() : completions_.get(),
         .send_depth = static_cast<std::uint32_t>(verbs_load_send_depth(scenario, members)),
         .receive_depth = sends ? scenario.queue_pair.receive_depth : 1,
         .max_sge = scenario.queue_pair.max_sge,
         .inline_bytes = scenario.queue_pair.inline_bytes,
         .one_sided = true}));
  }
  for (std::uint32_t i = 0; i < members; ++i) boxes_.emplace_back(scenario.load.window);
}

}  // namespace rkv
