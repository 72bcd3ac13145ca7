#include "core/one_sided/queue_group.hpp"

#include <algorithm>

#include "core/completion/waiter.hpp"

namespace rkv {

// What a batch has under way beside the slots: its signalled request, and those that nobody watches.
std::uint64_t one_sided_send_depth(const Scenario& scenario, std::uint32_t members) {
  return std::uint64_t{members} * scenario.load.window + 2 * scenario.queue_pair.signal_interval;
}

std::uint64_t one_sided_completion_depth(const Scenario& scenario, std::uint32_t members) {
  return std::uint64_t{members} * scenario.load.window + scenario.one_sided.queue_pairs;
}

std::uint32_t largest_group(const Scenario& scenario, std::uint32_t clients) {
  return std::min(scenario.one_sided.clients_a_queue_pair, clients);
}

void EndBox::put(std::uint32_t slot, CompletionStatus status) {
  ends_[slot].store(static_cast<int>(status), std::memory_order_release);
  waiting_.fetch_add(1, std::memory_order_release);
}

QueueGroup::QueueGroup(const Port& port, const Scenario& scenario, std::uint32_t members)
    : completions_(port.device->make_completion_queue(
          static_cast<std::uint32_t>(one_sided_completion_depth(scenario, members)),
          Waiter::blocks(client_policy(scenario)))) {
  for (std::uint32_t i = 0; i < scenario.one_sided.queue_pairs; ++i) {
    pairs_.push_back(port.device->make_queue_pair(
        {.transport = scenario.transport,
         .send_completions = completions_.get(),
         .receive_completions = completions_.get(),
         .send_depth = static_cast<std::uint32_t>(one_sided_send_depth(scenario, members)),
         .receive_depth = 1,
         .max_sge = scenario.queue_pair.max_sge,
         .inline_bytes = scenario.queue_pair.inline_bytes,
         .one_sided = true}));
  }
  for (std::uint32_t i = 0; i < members; ++i) boxes_.emplace_back(scenario.load.window);
}

}  // namespace rkv
