#include "core/exchange/send_send_client.hpp"

#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "core/message/sizes.hpp"

namespace rkv {
namespace {

std::unique_ptr<QueuePair> make_queue_pair(Device& device, const Scenario& scenario, const SendLane& lane,
                                           CompletionQueue& sends, CompletionQueue& receives) {
  return device.make_queue_pair({.transport = scenario.transport,
                                 .send_completions = &sends,
                                 .receive_completions = &receives,
                                 .send_depth = lane.depth(),
                                 .receive_depth = scenario.queue_pair.receive_depth,
                                 .max_sge = scenario.queue_pair.max_sge,
                                 .inline_bytes = scenario.queue_pair.inline_bytes});
}

}  // namespace

SendSendClient::SendSendClient(const Port& port, const Scenario& scenario, const StopFlag& stop)
    : options_(scenario.queue_pair),
      transport_(scenario.transport),
      device_(*port.device),
      lane_(lane_depth(scenario.load.window, options_.signal_interval), options_.signal_interval),
      request_stride_(round_to_line(largest_request_bytes(scenario.message))),
      requests_(device_.make_region(std::size_t{request_stride_} * scenario.load.window)),
      send_completions_(
          device_.make_completion_queue(lane_.depth(), Waiter::blocks(client_policy(scenario)))),
      responses_(port, scenario, transport_, stop),
      queue_pair_(make_queue_pair(device_, scenario, lane_, *send_completions_, responses_.completions())),
      send_set_(wait_set_of(port, *send_completions_, stop)),
      send_waiter_(*send_set_, client_policy(scenario)),
      send_taken_(lane_.depth()) {
  responses_.attach(*queue_pair_);
}

void SendSendClient::connect(const Endpoint& server) {
  queue_pair_->connect(server);
  if (transport_ == Transport::ud) server_ = device_.make_address_handle(server);
}

std::span<std::byte> SendSendClient::request_buffer(std::uint32_t slot) {
  return requests_->bytes().subspan(std::size_t{slot} * request_stride_, request_stride_);
}

bool SendSendClient::take_sends(const WaitResult& result) {
  for (std::uint32_t i = 0; i < result.count; ++i) {
    const Completion& completion = send_taken_[i];
    if (completion.status != CompletionStatus::ok) {
      break_connection(name(completion.status));
      return false;
    }
    lane_.completed(static_cast<std::uint32_t>(completion.id));
  }
  return true;
}

bool SendSendClient::send(std::uint32_t slot, std::uint32_t bytes) {
  while (lane_.full()) {
    const WaitResult result = send_waiter_.wait(send_taken_, never);
    if (result.wake == Wake::stopped || !take_sends(result)) return false;
  }
  const SendLane::Slot next = lane_.next();
  const int refused = queue_pair_->post_send({.id = next.number,
                                              .region = requests_.get(),
                                              .offset = slot * request_stride_,
                                              .length = bytes,
                                              .signalled = next.signalled,
                                              .inlined = bytes <= options_.inline_bytes,
                                              .destination = server_.get()});
  if (refused != 0) {
    break_connection("posting a send was refused");
    return false;
  }
  if (!options_.await_send_completion || !next.signalled) return true;
  const WaitResult result = send_waiter_.wait(send_taken_, never);
  return result.wake != Wake::stopped && take_sends(result);
}

}  // namespace rkv
