// SEND-SEND over RC, UC or UD, client side: requests and responses are two-sided messages.
//
// The order of Troost's client, which `await_send_completion` keeps: post the request, wait for its send's
// completion, wait for the response. Without it, completions of signalled sends are reaped when needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/exchange/response_receiver.hpp"
#include "core/exchange/verbs_client.hpp"
#include "core/posting/send_lane.hpp"

namespace rkv {

class SendSendClient final : public VerbsClient {
 public:
  // Makes the queue pair and posts its receives. The port and the flag outlive it.
  SendSendClient(const Port& port, const Scenario& scenario, const StopFlag& stop);

  [[nodiscard]] Endpoint endpoint() const override { return queue_pair_->endpoint(); }
  void connect(const Endpoint& server) override;

  [[nodiscard]] std::span<std::byte> request_buffer(std::uint32_t slot) override;
  [[nodiscard]] bool send(std::uint32_t slot, std::uint32_t bytes) override;
  Received receive(std::span<ResponseView> out, Instant deadline) override {
    return responses_.receive(out, deadline);
  }
  [[nodiscard]] std::uint32_t largest_take() const override { return responses_.largest_take(); }
  [[nodiscard]] std::uint64_t malformed() const override { return responses_.malformed(); }
  [[nodiscard]] std::string_view broken_reason() const override {
    return broken_.empty() ? responses_.broken_reason() : broken_;
  }

 private:
  [[nodiscard]] bool take_sends(const WaitResult& result);
  void break_connection(std::string_view why) { broken_ = why; }

  const QueuePairOptions options_;
  const Transport transport_;
  Device& device_;
  SendLane lane_;

  const std::uint32_t request_stride_;
  std::unique_ptr<MemoryRegion> requests_;
  std::unique_ptr<CompletionQueue> send_completions_;
  ResponseReceiver responses_;
  std::unique_ptr<QueuePair> queue_pair_;
  std::unique_ptr<AddressHandle> server_;  // UD
  std::unique_ptr<WaitSet> send_set_;
  Waiter send_waiter_;
  std::vector<Completion> send_taken_;
  std::string_view broken_;
};

}  // namespace rkv
