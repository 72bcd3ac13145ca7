#include "core/exchange/send_send_client.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "core/message/sizes.hpp"

namespace rkv {
namespace {

// A server that was connected to anew so often without a single response is taken as gone.
constexpr std::uint32_t most_connections_in_vain = 8;

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

SendSendClient::SendSendClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                               Reconnect reconnect)
    : stop_(stop),
      reconnect_(std::move(reconnect)),
      options_(scenario.queue_pair),
      transport_(scenario.transport),
      device_(*port.device),
      lane_(lane_depth(scenario.load.window, options_.signal_interval), options_.signal_interval),
      chain_(options_.doorbell_batch),
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
      if (!reconnect_ || !tells_of_loss(completion.status)) {
        break_connection(name(completion.status));
        return false;
      }
      lost_ = true;
    }
    lane_.completed(static_cast<std::uint32_t>(completion.id));
  }
  return true;
}

bool SendSendClient::post_chain() {
  if (chain_.post(*queue_pair_)) return true;
  break_connection("posting a send was refused");
  return false;
}

bool SendSendClient::send(std::uint32_t slot, std::uint32_t bytes) {
  if (lane_.full() && !post_chain()) return false;  // what is waited for may be in it
  while (lane_.full() && !lost_) {
    const WaitResult result = send_waiter_.wait(send_taken_, never);
    if (result.wake == Wake::stopped || !take_sends(result)) return false;
  }
  if (lost_) return true;
  const SendLane::Slot next = lane_.next();
  chain_.add({.id = next.number,
              .region = requests_.get(),
              .offset = slot * request_stride_,
              .length = bytes,
              .signalled = next.signalled,
              .inlined = bytes <= options_.inline_bytes,
              .destination = server_.get()});
  if (chain_.full() && !post_chain()) return false;
  if (!options_.await_send_completion || !next.signalled) return true;
  const WaitResult result = send_waiter_.wait(send_taken_, never);
  return result.wake != Wake::stopped && take_sends(result);
}

Received SendSendClient::receive(std::span<ResponseView> out, Instant deadline) {
  if (!post_chain()) return {.outcome = ReceiveOutcome::broken};
  // What came before the connection was lost comes first, and then the receives that are flushed.
  const Received received = responses_.receive(out, deadline);
  if (received.outcome == ReceiveOutcome::responses) connections_in_vain_ = 0;
  if (received.outcome != ReceiveOutcome::broken || !reconnect_ || !responses_.lost()) return received;
  return connect_anew();
}

bool SendSendClient::take_back_sends() {
  const auto take = [this] {
    const WaitResult result = send_waiter_.wait(send_taken_, never);
    return result.wake != Wake::stopped && take_sends(result);
  };
  while (lane_.full()) {
    if (!take()) return false;
  }
  // Sends that went well and were not signalled say nothing. What is posted now is flushed behind them.
  if (queue_pair_->post_send(
          {.id = lane_.next().number, .region = requests_.get(), .offset = 0, .length = 1}) != 0) {
    break_connection("posting a send was refused");
    return false;
  }
  while (!lane_.idle()) {
    if (!take()) return false;
  }
  return true;
}

Received SendSendClient::connect_anew() {
  try {
    return try_to_connect_anew();
  } catch (const Error& error) {
    refusal_ = error.what();
    break_connection(refusal_);
    return {.outcome = ReceiveOutcome::broken};
  }
}

Received SendSendClient::try_to_connect_anew() {
  const auto end = [this] {
    return Received{.outcome = broken_.empty() ? ReceiveOutcome::stopped : ReceiveOutcome::broken};
  };
  if (connections_in_vain_ == most_connections_in_vain) {
    break_connection(name(CompletionStatus::peer_unreachable));
    return end();
  }
  queue_pair_->fail();
  if (!take_back_sends() || !responses_.take_back()) return end();
  queue_pair_->reset();
  responses_.attach(*queue_pair_);
  const std::optional<Endpoint> server = reconnect_(endpoint());
  if (!server) {
    if (!stop_.requested()) break_connection("the server does not connect anew");
    return end();
  }
  queue_pair_->connect(*server);
  lost_ = false;
  ++connections_in_vain_;
  return {.outcome = ReceiveOutcome::reconnected};
}

}  // namespace rkv
