// The exchange patterns over slots (slot_plan.hpp), client side.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/completion/waiter.hpp"
#include "core/exchange/connections.hpp"
#include "core/exchange/response_receiver.hpp"
#include "core/exchange/slots/direct_gets.hpp"
#include "core/exchange/slots/immediate_receives.hpp"
#include "core/exchange/slots/slot_plan.hpp"
#include "core/exchange/verbs_client.hpp"

namespace rkv {

class SlotClient final : public VerbsClient {
 public:
  // The port and the flag outlive it.
  SlotClient(const Port& port, const Scenario& scenario, const StopFlag& stop);

  [[nodiscard]] Endpoint endpoint() const override;
  void connect(const Endpoint& server) override;
  void fail() override { connections_.fail(); }

  [[nodiscard]] std::span<std::byte> request_buffer(std::uint32_t slot) override;
  [[nodiscard]] bool send(std::uint32_t slot, std::uint32_t bytes) override;
  Received receive(std::span<ResponseView> out, Instant deadline) override;
  [[nodiscard]] std::uint32_t largest_take() const override { return take_; }
  [[nodiscard]] std::uint64_t malformed() const override {
    return malformed_ + (receiver_ ? receiver_->malformed() : 0);
  }
  [[nodiscard]] DirectGetCounts direct_gets() const override {
    return gets_ ? gets_->counts() : DirectGetCounts{};
  }
  [[nodiscard]] std::string_view broken_reason() const override {
    return broken_.empty() && receiver_ ? receiver_->broken_reason() : broken_;
  }

 private:
  // Of one operation under way.
  struct Slot {
    std::uint64_t requests = 0;  // frames sent so far, repetitions included
    FrameWord seen = 0;          // without a watch: the last response that was taken
    bool landed = false;         // a WRITE came that was not looked at
    bool awaited = false;        // responses READ: no response to its last request was taken
    bool reading = false;        // a READ is under way
    Instant read_again{};        // not before
  };

  [[nodiscard]] bool send_request(std::uint32_t slot, std::uint32_t bytes);
  [[nodiscard]] bool write_request(std::uint32_t slot, std::uint32_t frame_bytes);
  [[nodiscard]] bool make_room(const SendLane& lane);
  [[nodiscard]] bool take_completions();
  [[nodiscard]] bool handle(const Completion& completion);
  [[nodiscard]] bool told(std::uint32_t connection, const Completion& completion);
  [[nodiscard]] bool read_response(std::uint32_t slot);
  [[nodiscard]] bool read_what_is_due(Instant& next_due);
  Received take_written(std::span<ResponseView> out, Instant deadline);
  Received take_landed(std::span<ResponseView> out, Instant deadline);
  // Makes a response of this frame, in the count-th place for messages. False: it is not there any more, or
  // not whole.
  bool accept(std::span<const std::byte> frame_slot, std::uint32_t slot, FrameWord word,
              std::span<ResponseView> out, std::uint32_t& count);
  [[nodiscard]] bool read_item(std::uint32_t slot);
  [[nodiscard]] bool items_ended() const { return gets_ && gets_->any_ended(); }
  // The last of `count` responses is kept back if it is not the client's, and what it points at READ.
  [[nodiscard]] bool follow(std::span<ResponseView> out, std::uint32_t& count);
  // Responses of the items that were READ, as many as have room.
  [[nodiscard]] bool take_items(std::span<ResponseView> out, std::uint32_t& count);
  // Of a client that could not send: the connection is gone, or it was stopped while it waited.
  [[nodiscard]] Received ended() const {
    return {.outcome = broken_.empty() ? ReceiveOutcome::stopped : ReceiveOutcome::broken};
  }
  [[nodiscard]] bool break_connection(std::string_view why) {
    broken_ = why;
    return false;
  }

  Runtime& runtime_;
  const StopFlag& stop_;
  const SlotPlan plan_;
  const QueuePairOptions options_;
  const MessageFormat format_;
  const std::uint32_t take_;
  const Duration read_pause_;
  std::vector<Slot> slots_;

  std::unique_ptr<MemoryRegion> requests_;            // frames as they are sent
  std::unique_ptr<MemoryRegion> published_requests_;  // READ by the server
  std::unique_ptr<MemoryRegion> responses_;           // written by the server, or where READs put them
  std::optional<ResponseReceiver> receiver_;          // of responses that are sent
  std::optional<DirectGets> gets_;                    // from a store of items
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<CompletionQueue> receive_completions_;
  Connections connections_;
  ImmediateReceives receives_;            // posted if they tell of responses
  std::unique_ptr<QueuePair> datagrams_;  // of the receiver
  std::unique_ptr<SlotWatch> watch_;
  const bool told_apart_;  // the receives have their completion queue for themselves
  std::unique_ptr<WaitSet> completion_set_;
  std::unique_ptr<WaitSet> response_set_;
  Waiter completion_waiter_;
  Waiter response_waiter_;
  Endpoint server_;

  std::vector<std::byte> messages_;  // responses that are handed out, one for each that receive() gives
  std::uint32_t message_stride_;
  std::vector<Completion> taken_;
  // Slots whose READ has ended, or that a WRITE came into, and that were not looked at.
  std::vector<std::uint32_t> landed_;
  std::uint64_t malformed_ = 0;
  std::string_view broken_;
};

}  // namespace rkv
