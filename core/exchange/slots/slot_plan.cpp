#include "core/exchange/slots/slot_plan.hpp"

#include "core/completion/waiter.hpp"
#include "core/posting/send_lane.hpp"
#include "core/scenario/server_queues.hpp"

namespace rkv {

// A scenario's messages: the largest key and value of scenarios/scenario.schema.json.
static_assert(largest_request_bytes({.key_capacity_bytes = 1'048'576, .value_capacity_bytes = 1'048'576}) <=
              frame_message_limit_bytes);

namespace {

FrameCheck check_of(bool written, Transport transport) {
  return written && !loses_messages(transport) ? FrameCheck::words : FrameCheck::checksum;
}

}  // namespace

SlotPlan::SlotPlan(const Scenario& scenario)
    : requests_written(writes_requests(scenario.exchange)),
      responses_written(writes_responses(scenario.exchange)),
      responses_read(reads_responses(scenario.exchange)),
      immediate(scenario.slots.immediate),
      request_check(check_of(requests_written, scenario.transport)),
      response_check(check_of(responses_written, scenario.transport)),
      request_slot_bytes(round_to_line(frame_bytes(largest_request_bytes(scenario.message)))),
      response_slot_bytes(round_to_line(frame_bytes(largest_response_bytes(scenario.message)))),
      window(scenario.load.window),
      queue_pairs(scenario.queue_pair.per_client) {}

std::uint32_t request_lane_depth(const Scenario& scenario) {
  return lane_depth(window_a_queue_pair(scenario), scenario.queue_pair.signal_interval);
}

std::uint32_t response_lane_depth(const Scenario& scenario) {
  const SlotPlan plan(scenario);
  if (plan.responses_read) return 1;
  // Over its one UD queue pair a worker answers what it took before it takes more.
  const std::uint32_t outstanding =
      plan.responses_sent() ? Waiter::largest_take(scenario.completion) : window_a_queue_pair(scenario);
  return lane_depth(outstanding, scenario.queue_pair.signal_interval);
}

SlotCounts slot_counts(const Scenario& scenario, std::uint32_t clients, std::uint32_t workers) {
  const SlotPlan plan(scenario);
  const std::uint64_t slots = std::uint64_t{clients} * plan.window;
  const std::uint64_t lanes = plan.responses_sent() ? workers : std::uint64_t{clients} * plan.queue_pairs;
  return {.requests = slots,
          .responses = lanes * response_lane_depth(scenario),
          .published = plan.responses_read ? slots : 0};
}

std::uint64_t slot_send_depth(const Scenario& scenario) {
  // A client's requests and READs; a worker's responses and READ.
  return std::uint64_t{request_lane_depth(scenario)} + window_a_queue_pair(scenario);
}

std::uint64_t slot_completion_depth(const Scenario& scenario, std::uint32_t clients) {
  return (std::uint64_t{response_lane_depth(scenario)} * scenario.queue_pair.per_client + 1) * clients;
}

std::uint64_t slot_receive_completion_depth(const Scenario& scenario, std::uint32_t clients) {
  if (!SlotPlan(scenario).requests_told()) return 1;  // none comes
  return std::uint64_t{scenario.queue_pair.receive_depth} * scenario.queue_pair.per_client * clients;
}

}  // namespace rkv
