#include "core/exchange/send_send_client.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"

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
      format_(scenario.message),
      device_(*port.device),
      take_(Waiter::largest_take(client_policy(scenario))),
      lane_(lane_depth(scenario.load.window, options_.signal_interval), options_.signal_interval),
      send_completions_(
          device_.make_completion_queue(lane_.depth(), Waiter::blocks(client_policy(scenario)))),
      receive_completions_(
          device_.make_completion_queue(options_.receive_depth, Waiter::blocks(client_policy(scenario)))),
      queue_pair_(make_queue_pair(device_, scenario, lane_, *send_completions_, *receive_completions_)),
      send_set_(wait_set_of(port, *send_completions_, stop)),
      receive_set_(wait_set_of(port, *receive_completions_, stop)),
      send_waiter_(*send_set_, client_policy(scenario)),
      receive_waiter_(*receive_set_, client_policy(scenario)),
      request_stride_(round_to_line(format_.largest_request_bytes())) {
  const std::uint32_t buffers = options_.receive_depth + take_;
  requests_ = device_.make_region(std::size_t{request_stride_} * scenario.load.window);
  responses_ = device_.make_region(std::size_t{receive_buffer_bytes()} * buffers);
  completions_.resize(take_);
  send_taken_.resize(lane_.depth());
  spare_.reserve(buffers);
  handed_out_.reserve(buffers);
  for (std::uint32_t buffer = 0; buffer < buffers; ++buffer) {
    if (buffer < options_.receive_depth) {
      if (!post_receive(buffer))
        throw Error("the client's receives could not be posted: " + std::string(broken_));
    } else {
      spare_.push_back(buffer);
    }
  }
}

void SendSendClient::connect(const Endpoint& server) {
  queue_pair_->connect(server);
  if (transport_ == Transport::ud) server_ = device_.make_address_handle(server);
}

std::uint32_t SendSendClient::receive_buffer_bytes() const {
  return round_to_line(receive_headroom_bytes(transport_) + format_.largest_response_bytes());
}

bool SendSendClient::post_receive(std::uint32_t buffer) {
  const int refused = queue_pair_->post_receive(
      {.id = buffer,
       .region = responses_.get(),
       .offset = buffer * receive_buffer_bytes(),
       .length = receive_headroom_bytes(transport_) + format_.largest_response_bytes()});
  if (refused != 0) break_connection("posting a receive was refused");
  return refused == 0;
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

Received SendSendClient::receive(std::span<ResponseView> out, Instant deadline) {
  spare_.insert(spare_.end(), handed_out_.begin(), handed_out_.end());
  handed_out_.clear();
  for (;;) {
    const std::size_t room = std::min(out.size(), completions_.size());
    const WaitResult result = receive_waiter_.wait(std::span(completions_).first(room), deadline);
    if (result.wake == Wake::stopped) return {.outcome = ReceiveOutcome::stopped};
    if (result.wake != Wake::completions) return {.outcome = ReceiveOutcome::deadline};
    Received received{.outcome = ReceiveOutcome::responses};
    for (std::uint32_t i = 0; i < result.count; ++i) {
      const Completion& completion = completions_[i];
      if (completion.status != CompletionStatus::ok) {
        break_connection(name(completion.status));
        return {.outcome = ReceiveOutcome::broken};
      }
      // A fresh receive first, so that the next response never waits for this one's handling.
      const std::uint32_t spare = spare_.back();
      spare_.pop_back();
      if (!post_receive(spare)) return {.outcome = ReceiveOutcome::broken};
      const auto buffer = static_cast<std::uint32_t>(completion.id);
      handed_out_.push_back(buffer);
      const std::span<const std::byte> message = responses_->bytes().subspan(
          std::size_t{buffer} * receive_buffer_bytes() + receive_headroom_bytes(transport_),
          completion.bytes);
      if (format_.parse_response(message, out[received.count])) {
        ++received.count;
      } else {
        ++malformed_;
      }
    }
    if (received.count != 0) return received;
    spare_.insert(spare_.end(), handed_out_.begin(), handed_out_.end());
    handed_out_.clear();
  }
}

}  // namespace rkv
