// Messages on their way, in a pool that all cards of a world share: made when a send is posted, given back
// when the last event that needs it has been handled. Their buffers are kept and used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/sim/engine/time.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class Thread;

// Where a queue pair's messages go, or come from.
struct Address {
  std::uint32_t host = 0;
  std::uint32_t queue_pair = 0;
  bool operator==(const Address&) const = default;
};

// A receive that was posted.
struct ReceiveSlot {
  std::uint64_t id = 0;
  std::byte* bytes = nullptr;
  std::uint32_t length = 0;   // including the headroom
  std::uint64_t address = 0;  // of these
  Ps visible_from = 0;        // to the card
};

struct Message {
  // Whether memory is named by the requester.
  [[nodiscard]] bool one_sided() const { return operation != SendOperation::send; }
  [[nodiscard]] bool takes_receive() const {
    return !one_sided() || operation == SendOperation::write_with_immediate;
  }
  // One that was accepted: what may not be done takes none.
  [[nodiscard]] bool took_receive() const { return takes_receive() && status != CompletionStatus::access; }
  [[nodiscard]] bool atomic() const { return is_atomic(operation); }
  // Whether its answer brings bytes: READs, and atomic operations, which are READs that change what they
  // read.
  [[nodiscard]] bool reads() const { return operation == SendOperation::read || atomic(); }

  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr Ps not_ready = -1;

  std::uint32_t number = 0;   // in the pool
  std::uint32_t next = none;  // in a list of its queue pair
  std::uint32_t uses = 0;     // events that are planned for it, lists that it is in

  Transport transport = Transport::uc;
  SendOperation operation = SendOperation::send;
  Address from;
  Address to;
  std::uint64_t id = 0;        // the send's
  std::uint64_t sequence = 0;  // among its queue pair's sends, in the order in which they were rung
  std::uint32_t bytes = 0;
  bool signalled = false;
  bool watched = false;
  bool inlined = false;
  bool lost = false;
  CompletionStatus status = CompletionStatus::ok;
  const std::byte* source = nullptr;  // until it is captured
  std::byte* destination = nullptr;   // READ, atomic: at the requester
  std::uint64_t address = 0;          // of the requester's memory
  RemoteMemory remote{};              // all but SEND
  std::uint32_t immediate = 0;        // WRITE with immediate
  std::uint64_t operand = 0;          // atomic
  std::uint64_t swap = 0;
  ReceiveSlot receive;        // the one that it was matched with
  bool receive_seen = false;  // by the card, before the message came
  std::vector<std::byte> payload;
  Thread* posted_by = nullptr;      // soft
  std::uint64_t request = 0;        // READ: its number in the request cache
  bool follows = false;             // it came with the doorbell of the request before it
  std::uint32_t chained_bytes = 0;  // of requests that came with its doorbell, beside itself

  Ps behind = 0;            // its time on the card so far that was not waited for event by event (nic.hpp)
  Ps ready_at = not_ready;  // to enter the link; atomic, at its responder: for its DMA
  Ps delay = 0;             // held back at the receiver
  Ps answered_at = 0;       // when its completion was due, of one that waits for others
};

class MessagePool {
 public:
  // With one use.
  Message& make() {
    if (free_ == Message::none) grow();
    Message& message = (*this)[free_];
    free_ = message.next;
    message.next = Message::none;
    message.uses = 1;
    message.lost = false;
    message.status = CompletionStatus::ok;
    message.behind = message.delay = 0;
    message.ready_at = Message::not_ready;
    return message;
  }
  void release(Message& message) {
    if (--message.uses > 0) return;
    message.next = free_;
    free_ = message.number;
  }
  [[nodiscard]] Message& operator[](std::uint32_t number) { return chunks_[number / chunk][number % chunk]; }

 private:
  static constexpr std::uint32_t chunk = 256;

  void grow() {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * chunk;
    chunks_.push_back(std::make_unique<Message[]>(chunk));
    for (std::uint32_t i = chunk; i-- > 0;) {
      Message& message = chunks_.back()[i];
      message.number = first + i;
      message.next = free_;
      free_ = message.number;
    }
  }

  std::vector<std::unique_ptr<Message[]>> chunks_;
  std::uint32_t free_ = Message::none;
};

}  // namespace rkv::sim
