#include "core/exchange/slots/slot_plan.hpp"

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
      request_check(check_of(requests_written, scenario.transport)),
      response_check(check_of(responses_written, scenario.transport)),
      request_slot_bytes(round_to_line(frame_bytes(largest_request_bytes(scenario.message)))),
      response_slot_bytes(round_to_line(frame_bytes(largest_response_bytes(scenario.message)))),
      window(scenario.load.window) {}

}  // namespace rkv
