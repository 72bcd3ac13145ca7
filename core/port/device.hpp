// The seam's second half: a network device as narrow as verbs. Registered memory, completion queues, queue
// pairs, work requests. backends/verbs implements it on libibverbs, backends/sim on a model of an RNIC.
//
// Objects are made by a Device, must not outlive it, and are destroyed before what they were made from:
// queue pairs before their completion queues. Making and destroying them throws rkv::Error (device, call and
// errno); posting returns an errno value. A queue pair is posted to by any thread (the device locks).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/port/slot_watch.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Memory that a peer exposes, as requests name it.
struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;

  [[nodiscard]] RemoteMemory behind(std::uint64_t bytes) const {
    return {.address = address + bytes, .key = key};
  }
};

// What peers may do with an exposed region. Another operation fails as if the region were none (access).
enum class PeerAccess : std::uint8_t { read, write, all };

// Another queue pair of the same side, which has all else in common.
struct QueuePairName {
  std::uint32_t queue_pair = 0;
  std::uint32_t packet_sequence = 0;
};

// What a peer must know of a queue pair to reach it.
struct Endpoint {
  std::uint32_t queue_pair = 0;
  std::uint32_t packet_sequence = 0;  // the first PSN it sends with
  std::uint32_t qkey = 0;             // UD only
  std::uint16_t lid = 0;
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t path_mtu_bytes = 0;
  // Of the queue pair that it takes responses with, where that is another one: UD, in the same port.
  std::uint32_t datagram_queue_pair = 0;
  std::uint32_t datagram_qkey = 0;
  // The slots that it exposes for requests and for responses (core/exchange/slots), where it does.
  RemoteMemory requests{};
  RemoteMemory responses{};
  std::vector<QueuePairName> more = {};  // of a client that has several
  RemoteMemory items{};   // of the server's store, where clients READ them (core/store/item_store.hpp)
  RemoteMemory memory{};  // that operations of workload verbs on this side go to, where they do
};

enum class CompletionStatus : std::uint8_t {
  ok,
  flushed,             // the queue pair went into error before this request's turn
  peer_unreachable,    // RC: retries exhausted
  receiver_not_ready,  // RC: RNR retries exhausted
  message_length,      // longer than the buffer posted for it
  access,              // protection or access error, on either side
  closed,              // stream: the peer closed it
  failed,              // anything else
};
[[nodiscard]] std::string_view name(CompletionStatus status);

struct Completion {
  std::uint64_t id = 0;  // the work request's
  CompletionStatus status = CompletionStatus::ok;
  std::uint32_t bytes = 0;  // receive: payload in its buffer, without any headroom; stream: newly received
  std::uint32_t queue_pair = 0;              // local number
  std::uint32_t source_queue_pair = 0;       // UD receive: the sender's number
  std::optional<std::uint32_t> immediate{};  // receive that a WRITE with immediate took: the peer's word
};

// What a request does at the peer.
enum class SendOperation : std::uint8_t {
  send,   // is matched with a receive that the peer posted
  write,  // into memory that the peer exposes, without its CPU: RC, UC
  // Likewise, and takes a receive there, whose completion tells that the bytes are in place and carries
  // SendRequest::immediate: RC, UC. Without a receive it is as a SEND without one; what fails there on RC may
  // use one up, which then completes in error.
  write_with_immediate,
  read,  // out of it: RC
  // Of eight bytes there, aligned to eight, in one piece as the card's other atomics see it; what they were
  // goes to the requester's memory: RC.
  compare_and_swap,
  fetch_and_add,
};
[[nodiscard]] constexpr bool is_write(SendOperation operation) {
  return operation == SendOperation::write || operation == SendOperation::write_with_immediate;
}
[[nodiscard]] constexpr bool is_atomic(SendOperation operation) {
  return operation == SendOperation::compare_and_swap || operation == SendOperation::fetch_and_add;
}

// Zeroed memory that the device may read and write. The device owns it; bytes() is valid until destruction.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // How a peer names the first byte; bytes behind it are as much further on. Of exposed regions only.
  [[nodiscard]] virtual RemoteMemory remote() const = 0;
  // Copies whole words to where peers may READ them. In simulation they are there when the work before it has
  // been paid for; `bytes` is free again at once.
  virtual void publish(std::uint32_t offset, std::span<const std::byte> bytes) = 0;

 protected:
  std::span<std::byte> bytes_;
};

// Completions are taken through a WaitSet only. Overrun is an error of the queue's owner: size it so that
// all that may be outstanding fits.
class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
};

// Where a UD send goes. Must stay alive until the sends that use it have completed.
class AddressHandle {
 public:
  virtual ~AddressHandle() = default;
};

struct SendRequest {
  std::uint64_t id = 0;
  SendOperation operation = SendOperation::send;
  // Where the bytes come from, or, of a READ or an atomic operation, go to. Not changed by the owner until
  // completion, unless inlined.
  const MemoryRegion* region = nullptr;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  bool signalled = true;
  bool inlined = false;
  // READ, unsignalled: the poster looks at the last byte of the destination, which it has zeroed and which is
  // not 0 at the peer. Its change is handed out by the send completion queue, in the order of the queue
  // pair's posts, like a completion that the card knows nothing of: only a later signalled one gives the
  // place in the send queue back. That completion queue is not blockable and is used by one thread at a time;
  // a watched request takes one of its places until it is handed out. Ids differ among what a queue pair has
  // outstanding.
  bool watched = false;
  const AddressHandle* destination = nullptr;  // UD only
  RemoteMemory remote{};                       // all but SEND: the first byte there
  std::uint32_t immediate = 0;                 // write_with_immediate
  std::uint64_t operand = 0;                   // atomic: what is added, or what the bytes are compared with
  std::uint64_t swap = 0;                      // compare_and_swap: what they become, if they are equal
};

// Whether the transport has the operation, and whether the request keeps to the rules above, as far as it
// tells by itself.
[[nodiscard]] constexpr bool is_well_formed(const SendRequest& request, Transport transport) {
  const bool reads = request.operation == SendOperation::read;
  const bool atomic = is_atomic(request.operation);
  if (is_write(request.operation) && transport == Transport::ud) return false;
  if ((reads || atomic) && (transport != Transport::rc || request.inlined)) return false;
  if (atomic && request.length != atomic_bytes) return false;
  return !request.watched || (reads && !request.signalled && request.length > 0);
}

// Work requests that one post takes.
constexpr std::uint32_t most_chained = 64;

struct ReceiveRequest {
  std::uint64_t id = 0;
  const MemoryRegion* region = nullptr;  // the device's until completion; none where length is 0
  std::uint32_t offset = 0;
  std::uint32_t length = 0;  // including the headroom; WRITEs with immediate need none
};

// Where receives are posted: a queue pair, or what several have in common.
class ReceiveQueue {
 public:
  virtual ~ReceiveQueue() = default;
  // most_chained requests at most, in this order. 0, or the errno of the refusal: ENOMEM when the queue is
  // full.
  [[nodiscard]] virtual int post_receives(std::span<const ReceiveRequest> requests) = 0;
  [[nodiscard]] int post_receive(const ReceiveRequest& request) { return post_receives({&request, 1}); }
};

// Receives for the messages of several queue pairs, each taken by the next message of any; its completion
// goes to that queue pair's queue, which Completion::queue_pair tells. A queue pair that fails leaves them
// posted. Posted to by any thread. Without one left, RC messages wait as with a queue pair's own. Outlives
// its queue pairs.
class SharedReceiveQueue : public ReceiveQueue {};

struct QueuePairSpec {
  Transport transport = Transport::rc;
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
  std::uint32_t send_depth = 0;
  std::uint32_t receive_depth = 0;                // not looked at with shared receives
  SharedReceiveQueue* shared_receives = nullptr;  // RC: instead of receives of its own
  std::uint32_t max_sge = 1;
  std::uint32_t inline_bytes = 0;
  // The peer may read, write and change (RC), or write (UC) this side's exposed regions; this side may have
  // several READs and atomic operations under way.
  bool one_sided = false;
};

// Its receives are its own, and refused (EINVAL) where it has shared ones.
class QueuePair : public ReceiveQueue {
 public:
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  // Brings it to ready-to-send. UD: `peer` is not looked at, destinations go with each send.
  // Receives may be posted before.
  virtual void connect(const Endpoint& peer) = 0;
  // RC, when it is connected: puts it into error: what was posted and is not done, and all that is posted
  // from then on, completes as flushed. Any thread may call it.
  virtual void fail() = 0;
  // RC: as it was made, to be connected anew: nothing is posted, and its endpoint is another one. Of
  // completions that were not taken before, some may be lost. Nobody posts meanwhile.
  virtual void reset() = 0;
  // most_chained requests at most, in this order, with one doorbell: the card reads all but a single one
  // from memory. 0, or the errno of the refusal: ENOMEM when the queue is full. Requests in front of the
  // refused one are posted then, if all were possible.
  [[nodiscard]] virtual int post_sends(std::span<const SendRequest> requests) = 0;
  [[nodiscard]] int post_send(const SendRequest& request) { return post_sends({&request, 1}); }
};

struct DeviceLimits {
  std::uint32_t inline_bytes = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t queue_depth = 0;
  std::uint32_t completion_queue_depth = 0;
  std::uint32_t path_mtu_bytes = 0;
  bool atomics = false;
  std::uint32_t shared_receive_depth = 0;  // of a shared receive queue; 0: it has none
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual std::string_view device_name() const = 0;
  [[nodiscard]] virtual const DeviceLimits& limits() const = 0;
  virtual std::unique_ptr<MemoryRegion> make_region(std::size_t bytes) = 0;
  // One that peers may use so.
  virtual std::unique_ptr<MemoryRegion> make_exposed_region(std::size_t bytes, PeerAccess access) = 0;
  // Blockable queues have a completion channel of their own.
  virtual std::unique_ptr<CompletionQueue> make_completion_queue(std::uint32_t depth, bool blockable) = 0;
  virtual std::unique_ptr<QueuePair> make_queue_pair(const QueuePairSpec& spec) = 0;
  // For so many receives.
  virtual std::unique_ptr<SharedReceiveQueue> make_shared_receive_queue(std::uint32_t depth,
                                                                        std::uint32_t max_sge) = 0;
  virtual std::unique_ptr<AddressHandle> make_address_handle(const Endpoint& peer) = 0;
  virtual std::unique_ptr<SlotWatch> watch_slots(const SlotRange& range) = 0;
};

// Bytes that a received message's payload lies behind its buffer's start: UD writes the 40-byte global route
// header there (InfiniBand specification vol. 1, 11.4.1.2).
[[nodiscard]] constexpr std::uint32_t receive_headroom_bytes(Transport transport) {
  return transport == Transport::ud ? 40 : 0;
}

}  // namespace rkv
