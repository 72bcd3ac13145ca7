// A completion queue: a ring that many queue pairs complete into and any thread polls.
//
// Producers exclude each other with the producer lock, consumers with the consumer lock; the two sides meet
// only in a slot's sequence number, which a producer stores last. A poll of an empty queue takes no lock and
// reads nothing that a producer writes but that number. Arming takes the producer lock, so that a completion
// is either seen by the poll that follows the arming or finds the queue armed: no wake-up is lost.
//
// Lock order: consumer, then producer. Both come after every queue pair's locks.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/verbs/soft/sync/spin_lock.hpp"
#include "backends/verbs/soft/sync/zeroed_pages.hpp"
#include "backends/verbs/soft/verbs/completion_channel.hpp"

namespace rkv::soft {

// What a queue pair gives its completions by: its identity, and where a poll reports which places in the work
// queues are free again. As on hardware a place is taken until its completion was polled; the posting thread
// thus never reads what a peer writes.
struct CompletionSource {
  std::uint32_t qp_num = 0;
  // Sends up to this position (exclusive, modulo 2^32) were polled.
  alignas(64) std::atomic<std::uint32_t> retired_sends{0};
  // Receives of the queue pair's own queue that were polled, modulo 2^32.
  std::atomic<std::uint32_t> retired_receives{0};
};

struct Completion {
  std::uint64_t wr_id = 0;
  CompletionSource* source = nullptr;
  std::uint64_t timestamp_ns = 0;  // 0 unless the queue was created with time stamps
  std::uint32_t byte_len = 0;
  std::uint32_t imm_data = 0;  // in network byte order
  std::uint32_t src_qp = 0;
  std::uint32_t send_end = 0;  // of a send: the position after it in its send queue
  std::uint8_t status = IBV_WC_SUCCESS;
  std::uint8_t opcode = IBV_WC_SEND;
  std::uint8_t wc_flags = 0;
  std::uint8_t sl = 0;

  bool is_receive() const { return (opcode & IBV_WC_RECV) != 0; }
};

enum class PushResult : std::uint8_t {
  queued,
  queued_and_notify,  // the caller must call CompletionQueue::notify(); until then the queue is pinned
  overrun_now,        // lost: the first completion that found no room
  overrun_before,     // lost: the queue has been in error for some time
};

struct CompletionQueue {
  struct alignas(64) Slot {
    Completion completion;
    std::atomic<std::uint32_t> sequence;  // position + 1 once filled
  };
  struct Ring {
    std::uint32_t mask;
    ZeroedPages memory;
    Slot& at(std::uint64_t position) const { return reinterpret_cast<Slot*>(memory.data())[position & mask]; }
  };

  ibv_cq_ex ibv{};  // first

  // Set at creation, read by all.
  alignas(64) std::atomic<const Ring*> ring{nullptr};
  bool timestamps = false;
  bool wallclock = false;
  std::uint64_t wc_flags = 0;
  ibv_pd* parent_domain = nullptr;
  std::atomic<int> users{0};  // queue pairs

  alignas(64) SpinLock consumer_lock;
  std::atomic<std::uint64_t> head{0};
  Completion current;  // of an extended poll in progress

  alignas(64) SpinLock producer_lock;
  std::uint64_t tail = 0;
  std::uint64_t known_head = 0;  // a head read earlier, to leave the consumer's line alone
  std::uint64_t capacity = 0;
  std::atomic<int> pins{0};  // events asked for and not yet delivered to the channel
  enum class Armed : std::uint8_t { no, solicited, any } armed = Armed::no;
  bool overrun = false;

  // Guarded by the channel's mutex.
  alignas(64) CompletionQueue* next_in_channel = nullptr;
  std::uint64_t undelivered_events = 0;
  std::uint64_t delivered_events = 0;
  std::uint64_t delivered_async_events = 0;  // guarded by the context's event queue

  // Rings replaced by resizing; a lock-free look at an empty queue may still read one.
  std::vector<std::unique_ptr<Ring>> rings;

  static CompletionQueue* from(ibv_cq* cq) { return reinterpret_cast<CompletionQueue*>(cq); }
  static CompletionQueue* from(ibv_cq_ex* cq) { return reinterpret_cast<CompletionQueue*>(cq); }

  // False: out of memory.
  bool allocate(std::uint32_t entries);
  // 0, EINVAL (more completions wait than would fit) or ENOMEM.
  int resize(std::uint32_t entries);

  PushResult push(const Completion& completion, bool solicited) noexcept;
  // Delivers the event that push() asked for, and unpins the queue.
  void notify();
  void arm(bool solicited_only) noexcept;
  // Takes one completion out; the consumer lock is held.
  bool pop(Completion& completion) noexcept;
  // Looks for a completion without any lock.
  bool looks_empty() const noexcept {
    const std::uint64_t position = head.load(std::memory_order_relaxed);
    const Slot& slot = ring.load(std::memory_order_acquire)->at(position);
    return slot.sequence.load(std::memory_order_acquire) != static_cast<std::uint32_t>(position + 1);
  }
  // Drops the completions of a queue pair that is reset or destroyed.
  void remove(const CompletionSource& source);
};

}  // namespace rkv::soft
