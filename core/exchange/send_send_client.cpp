#include "core/exchange/send_send_client.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/exchange/layout.hpp"
#include "core/exchange/wait_set_of.hpp"
#include "core/message/sizes.hpp"
#include "core/scenario/server_queues.hpp"

namespace rkv {
namespace {

// A server that was connected to anew so often without a single response is taken as gone.
constexpr std::uint32_t most_connections_in_vain = 8;

QueuePairSpec queue_pair_spec(const Scenario& scenario, std::uint32_t send_depth, CompletionQueue& sends,
                              CompletionQueue& receives) {
  return {.transport = scenario.transport,
          .send_completions = &sends,
          .receive_completions = &receives,
          .send_depth = send_depth,
          .receive_depth = scenario.queue_pair.receive_depth,
          .max_sge = scenario.queue_pair.max_sge,
          .inline_bytes = scenario.queue_pair.inline_bytes};
}

}  // namespace

SendSendClient::SendSendClient(const Port& port, const Scenario& scenario, const StopFlag& stop,
                               Reconnect reconnect)
    : stop_(stop),
      reconnect_(std::move(reconnect)),
      options_(scenario.queue_pair),
      transport_(scenario.transport),
      device_(*port.device),
      lane_depth_(lane_depth(window_a_queue_pair(scenario), options_.signal_interval)),
      request_stride_(round_to_line(largest_request_bytes(scenario.message))),
      requests_(device_.make_region(std::size_t{request_stride_} * scenario.load.window)),
      send_completions_(device_.make_completion_queue(lane_depth_ * options_.per_client,
                                                      Waiter::blocks(client_policy(scenario)))),
      responses_(port, scenario, transport_, options_.per_client, stop),
      connections_(device_,
                   queue_pair_spec(scenario, lane_depth_, *send_completions_, responses_.completions()),
                   options_.per_client, lane_depth_, options_.signal_interval),
      chains_(options_.per_client, SendChain(options_.doorbell_batch)),
      send_set_(wait_set_of(port, *send_completions_, stop)),
      send_waiter_(*send_set_, client_policy(scenario)),
      send_taken_(std::size_t{lane_depth_} * options_.per_client) {
  attach();
}

void SendSendClient::attach() {
  std::vector<QueuePair*> queue_pairs;
  for (std::uint32_t i = 0; i < connections_.count(); ++i) queue_pairs.push_back(&connections_.queue_pair(i));
  responses_.attach(std::move(queue_pairs));
}

void SendSendClient::connect(const Endpoint& server) {
  connections_.connect(server);
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
    connections_.lane(id_owner(completion.id)).completed(id_number(completion.id));
  }
  return true;
}

bool SendSendClient::post_chain(std::uint32_t connection) {
  if (chains_[connection].post(connections_.queue_pair(connection))) return true;
  break_connection("posting a send was refused");
  return false;
}

bool SendSendClient::post_chains() {
  for (std::uint32_t i = 0; i < connections_.count(); ++i) {
    if (!post_chain(i)) return false;
  }
  return true;
}

bool SendSendClient::send(std::uint32_t slot, std::uint32_t bytes) {
  const std::uint32_t connection = connections_.of_slot(slot);
  SendLane& lane = connections_.lane(connection);
  if (lane.full() && !post_chain(connection)) return false;  // what is waited for may be in it
  while (lane.full() && !lost_) {
    const WaitResult result = send_waiter_.wait(send_taken_, never);
    if (result.wake == Wake::stopped || !take_sends(result)) return false;
  }
  if (lost_) return true;
  const SendLane::Slot next = lane.next();
  SendChain& chain = chains_[connection];
  chain.add({.id = request_id(connection, next.number),
             .region = requests_.get(),
             .offset = slot * request_stride_,
             .length = bytes,
             .signalled = next.signalled,
             .inlined = bytes <= options_.inline_bytes,
             .destination = server_.get()});
  if (chain.full() && !post_chain(connection)) return false;
  if (!options_.await_send_completion || !next.signalled) return true;
  const WaitResult result = send_waiter_.wait(send_taken_, never);
  return result.wake != Wake::stopped && take_sends(result);
}

Received SendSendClient::receive(std::span<ResponseView> out, Instant deadline) {
  if (!post_chains()) return {.outcome = ReceiveOutcome::broken};
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
  SendLane& lane = connections_.lane(0);
  while (lane.full()) {
    if (!take()) return false;
  }
  // Sends that went well and were not signalled say nothing. What is posted now is flushed behind them.
  if (connections_.queue_pair(0).post_send(
          {.id = request_id(0, lane.next().number), .region = requests_.get(), .offset = 0, .length = 1}) !=
      0) {
    break_connection("posting a send was refused");
    return false;
  }
  while (!lane.idle()) {
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
  connections_.fail();
  if (!take_back_sends() || !responses_.take_back()) return end();
  connections_.queue_pair(0).reset();
  attach();
  const std::optional<Endpoint> server = reconnect_(endpoint());
  if (!server) {
    if (!stop_.requested()) break_connection("the server does not connect anew");
    return end();
  }
  connections_.connect(*server);
  lost_ = false;
  ++connections_in_vain_;
  return {.outcome = ReceiveOutcome::reconnected};
}

}  // namespace rkv
