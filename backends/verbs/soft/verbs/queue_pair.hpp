// A queue pair: the state that the verbs objects, the requester and the responder share.
//
// Locks, in the order in which a thread may take them:
//   control       modify, query and destroy exclude each other
//   builder.lock  between ibv_wr_start and ibv_wr_complete
//   (the queue pair table's mutex, then the wire's lock or each)
//   send_lock     everything the requester does; whoever moves data holds exactly one send lock, its own
//   receive_lock  consuming receives and the inbound side of the state; taken by a peer while it holds its
//   send lock (a shared receive queue's consumer lock; then a receive queue's producer lock; then a
//   completion queue's)
// The wire's lock (wire/progress.hpp) is held by whoever handles packets of other processes; it comes before
// the send lock. No thread takes a second send lock while it holds one. A peer's failure that has to flush
// the peer's send queue is therefore noted in an Aftermath and dealt with when the send lock is free.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/verbs/soft/fault/fault_stream.hpp"
#include "backends/verbs/soft/sync/spin_lock.hpp"
#include "backends/verbs/soft/sync/zeroed_pages.hpp"
#include "backends/verbs/soft/transport/work_request.hpp"
#include "backends/verbs/soft/verbs/completion_queue.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/receive_queue.hpp"

namespace rkv::soft {

namespace wire {
struct Connection;
}
struct ConnectionDeleter {
  void operator()(wire::Connection* connection) const;
};

// Why the oldest request of a send queue waits.
enum class Stall : std::uint8_t {
  none,
  receiver_not_ready,
  no_answer,
  injected_delay,
};

// Requests that could not be carried out when they were posted, oldest first. Guarded by the send lock.
struct Backlog {
  std::uint32_t head = 0;
  std::uint32_t tail = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t slot_mask = 0;
  std::uint32_t inline_offset_bytes = 0;
  ZeroedPages memory;

  bool empty() const { return head == tail; }
  // False: out of memory.
  bool allocate(const ibv_qp_cap& cap);
  SendWqe& front() { return at(head); }
  // Copies the request with its list and its inline data.
  SendWqe& push(const SendWqe& wqe);
  SendWqe& at(std::uint32_t position) {
    return *reinterpret_cast<SendWqe*>(memory.data() + std::size_t{position & slot_mask} * stride_bytes);
  }
};

// A request between ibv_wr_start and ibv_wr_complete; its list and its inline data follow it.
struct BuilderSlot {
  ibv_send_wr request;
  SendWqe wqe;
  std::uint64_t operand;  // of ibv_wr_atomic_write

  ibv_sge* sges() { return reinterpret_cast<ibv_sge*>(this + 1); }
};

struct Builder {
  SpinLock lock;            // held from ibv_wr_start to ibv_wr_complete or ibv_wr_abort
  std::uint32_t count = 0;  // requests complete or being built
  int error = 0;            // the first thing wrong with any of them
  std::uint32_t stride_bytes = 0;
  std::uint32_t inline_offset_bytes = 0;
  ZeroedPages memory;

  // False: out of memory.
  bool allocate(const ibv_qp_cap& cap);
  BuilderSlot& at(std::uint32_t index) {
    return *reinterpret_cast<BuilderSlot*>(memory.data() + std::size_t{index} * stride_bytes);
  }
  std::byte* inline_data(BuilderSlot& slot) const {
    return reinterpret_cast<std::byte*>(&slot) + inline_offset_bytes;
  }
};

struct QueuePair {
  ibv_qp_ex ibv{};  // first

  // Set at creation.
  Context* context = nullptr;
  const ProtectionDomain* pd = nullptr;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  ReceiveQueue* receives = nullptr;  // its own, or the shared one's
  ibv_qp_cap cap{};
  ibv_qp_type type = IBV_QPT_RC;
  bool signal_all = false;
  std::uint64_t send_operations = ~0ULL;  // ibv_qp_create_send_ops_flags allowed through ibv_wr_*

  std::mutex control;
  ibv_qp_attr attributes{};  // as last modified; guarded by control

  // Read by peers, changed by modify: written with both the send and the receive lock held.
  alignas(64) std::atomic<ibv_qp_state> state{IBV_QPS_RESET};
  std::atomic<std::uint32_t> dest_qpn{0};
  std::atomic<std::uint32_t> access_flags{0};
  std::atomic<std::uint32_t> qkey{0};
  std::atomic<std::uint8_t> min_rnr_timer{0};
  std::atomic<std::uint8_t> max_dest_rd_atomic{0};
  std::atomic<std::uint32_t> peer_address{0};  // IPv4, in the host's byte order; 0: none

  // Requester.
  alignas(64) SpinLock send_lock;
  Stall stall = Stall::none;
  bool drain_notify = false;
  std::uint8_t rnr_retries_left = 0;
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t retry_cnt = 0;
  std::uint8_t timeout = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint32_t posted_sends = 0;  // modulo 2^32
  std::uint32_t known_retired_sends = 0;
  QueuePair* peer = nullptr;  // of a connected queue pair, once looked up; reset when the peer is destroyed
  Backlog backlog;
  Builder builder;
  std::uint64_t stall_deadline_ns = 0;
  ReceiveQueue* starved_at = nullptr;  // whose list of starved senders this one may be in
  QueuePair* next_starved = nullptr;   // guarded by that queue's producer lock, as is
  bool starved_listed = false;         // whether it still is
  FaultStream faults;
  std::uint32_t datagram_psn = 0;

  // Of a queue pair whose peer is in another process, from the change to RTR to a reset; see
  // wire/connection.hpp.
  std::unique_ptr<wire::Connection, ConnectionDeleter> remote;
  std::uint32_t connections = 0;  // of these, made so far

  CompletionSource completions;

  // Responder.
  alignas(64) SpinLock receive_lock;
  ReceiveQueue own_receives;
  bool communication_established = false;
  std::uint64_t delivered_async_events = 0;  // guarded by the context's event queue

  // Others that hold a pointer outside their send lock: the timer thread, a posting receiver, an Aftermath.
  alignas(64) std::atomic<int> pins{0};
  std::atomic<bool> failure_listed{false};
  QueuePair* next_failure = nullptr;
  // Guarded by the timers' mutex.
  QueuePair* next_timer = nullptr;
  QueuePair* previous_timer = nullptr;
  std::uint64_t timer_deadline_ns = 0;

  static QueuePair* from(ibv_qp* qp) { return reinterpret_cast<QueuePair*>(qp); }
  static QueuePair* from(ibv_qp_ex* qp) { return reinterpret_cast<QueuePair*>(qp); }

  ibv_qp& base() { return ibv.qp_base; }
  std::uint32_t number() const { return completions.qp_num; }
  bool is_connected() const { return type != IBV_QPT_UD; }
  // Whether its state lets messages in.
  bool is_receiving() const {
    switch (state.load(std::memory_order_acquire)) {
      case IBV_QPS_RTR:
      case IBV_QPS_RTS:
      case IBV_QPS_SQD:
      case IBV_QPS_SQE:
        return true;
      default:
        return false;
    }
  }
  void pin() { pins.fetch_add(1, std::memory_order_relaxed); }
  void unpin() { pins.fetch_sub(1, std::memory_order_release); }
  void raise(ibv_event_type type_of_event) { context->raise(type_of_event, &base(), delivered_async_events); }
};

}  // namespace rkv::soft
