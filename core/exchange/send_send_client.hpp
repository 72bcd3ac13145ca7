// SEND-SEND over RC, UC or UD, client side: requests and responses are two-sided messages.
//
// The order of Troost's client, which `await_send_completion` keeps: post the request, wait for its send's
// completion, wait for the response. Without it, completions of signalled sends are reaped when needed.
//
// With several queue pairs (queue_pair.per_client) the requests of a window are spread over them, and each
// response comes over the one that its request went over.
//
// Requests are posted `doorbell_batch` in a chain, and what is less is posted by receive(): who sends all
// that it has before it waits has none of them wait for a response. Whether it has as many is its own matter
// (core/client/client.hpp).
//
// Given a way to connect anew, it does so when its connection is lost (core/exchange/reconnection.hpp): until
// receive() has made the new one, send() posts nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exchange/connections.hpp"
#include "core/exchange/response_receiver.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/posting/send_chain.hpp"
#include "core/posting/send_lane.hpp"

namespace rkv {

class SendSendClient final : public VerbsClient {
 public:
  // Makes the queue pairs and posts their receives. The port and the flag outlive it.
  SendSendClient(const Port& port, const Scenario& scenario, const StopFlag& stop, Reconnect reconnect = {});

  [[nodiscard]] Endpoint endpoint() const override { return connections_.endpoint(); }
  void connect(const Endpoint& server) override;
  void fail() override { connections_.fail(); }

  [[nodiscard]] std::span<std::byte> request_buffer(std::uint32_t slot) override;
  [[nodiscard]] bool send(std::uint32_t slot, std::uint32_t bytes) override;
  Received receive(std::span<ResponseView> out, Instant deadline) override;
  [[nodiscard]] std::uint32_t largest_take() const override { return responses_.largest_take(); }
  [[nodiscard]] std::uint64_t malformed() const override { return responses_.malformed(); }
  [[nodiscard]] std::string_view broken_reason() const override {
    return broken_.empty() ? responses_.broken_reason() : broken_;
  }

 private:
  // Posts the requests that wait for others, to one queue pair or to all. False: the connection is gone.
  [[nodiscard]] bool post_chain(std::uint32_t connection);
  [[nodiscard]] bool post_chains();
  // False: the connection is gone, not lost.
  [[nodiscard]] bool take_sends(const WaitResult& result);
  // All sends of the only queue pair, which has failed, are done. False: stopped, or the connection is gone.
  [[nodiscard]] bool take_back_sends();
  // Posts the receives.
  void attach();
  Received connect_anew();
  Received try_to_connect_anew();
  void break_connection(std::string_view why) { broken_ = why; }

  const StopFlag& stop_;
  const Reconnect reconnect_;
  const QueuePairOptions options_;
  const Transport transport_;
  Device& device_;
  const std::uint32_t lane_depth_;
  const std::uint32_t request_stride_;
  std::unique_ptr<MemoryRegion> requests_;
  std::unique_ptr<CompletionQueue> send_completions_;
  ResponseReceiver responses_;
  Connections connections_;
  std::vector<SendChain> chains_;          // of the last sends of each connection
  std::unique_ptr<AddressHandle> server_;  // UD
  std::unique_ptr<WaitSet> send_set_;
  Waiter send_waiter_;
  std::vector<Completion> send_taken_;
  bool lost_ = false;                      // and not made anew yet
  std::uint32_t connections_in_vain_ = 0;  // since the last response
  std::string refusal_;                    // what broken_ is about then
  std::string_view broken_;
};

}  // namespace rkv
