// A ring of posted receives: of one queue pair, or a shared receive queue.
//
// The application posts under the producer lock; inbound messages consume under the lock of whoever owns the
// queue (the queue pair's receive lock, or a shared queue's own consumer lock). The two sides meet in a
// slot's sequence number only.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "backends/verbs/soft/sync/spin_lock.hpp"
#include "backends/verbs/soft/sync/zeroed_pages.hpp"
#include "backends/verbs/soft/verbs/protection_domain.hpp"

namespace rkv::soft {

struct QueuePair;

struct ReceiveWqe {
  std::atomic<std::uint32_t> sequence;  // position + 1 once posted
  std::uint32_t num_sge;
  std::uint64_t wr_id;

  ibv_sge* sges() { return reinterpret_cast<ibv_sge*>(this + 1); }
};

struct ReceiveQueue {
  // Set at creation.
  std::byte* slots = nullptr;
  std::uint32_t stride_bytes = 0;
  std::uint32_t slot_mask = 0;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  const ProtectionDomain* pd = nullptr;
  ZeroedPages memory;

  alignas(64) SpinLock producer_lock;
  std::atomic<std::uint32_t> tail{0};
  std::uint32_t known_retired = 0;  // what `retired` said last
  // Where it is told how many receives are done with; see post().
  const std::atomic<std::uint32_t>* retired = nullptr;
  // Queue pairs whose reliable message found no receive; posting one lets them go on.
  QueuePair* starved = nullptr;

  alignas(64) std::atomic<std::uint32_t> head{0};
  SpinLock consumer_lock;  // of a shared queue; see above
  // Below this many receives a shared queue raises its limit event, once; 0: not armed.
  std::atomic<std::uint32_t> limit{0};

  // False: out of memory. `retired_count` counts receives that are done with; null: those that messages took.
  bool allocate(std::uint32_t wr_count, std::uint32_t sge_count,
                const std::atomic<std::uint32_t>* retired_count);
  ReceiveWqe& at(std::uint32_t position) const {
    return *reinterpret_cast<ReceiveWqe*>(slots + std::size_t{position & slot_mask} * stride_bytes);
  }

  // Producer side, under the producer lock. 0, EINVAL or ENOMEM. A receive takes up a place until its
  // completion was polled; in a shared queue, until a message took it.
  int post(const ibv_recv_wr& wr) noexcept;

  // Consumer side. peek() gives the oldest receive or null; advance() gives its slot back to the producer.
  ReceiveWqe* peek() const noexcept {
    const std::uint32_t position = head.load(std::memory_order_relaxed);
    ReceiveWqe& wqe = at(position);
    return wqe.sequence.load(std::memory_order_acquire) == position + 1 ? &wqe : nullptr;
  }
  void advance() noexcept { head.store(head.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // Consumer side: brings the next receive's buffer and the description of the one after it close to the
  // consuming core.
  void prefetch() const noexcept;
  std::uint32_t count() const noexcept {
    return tail.load(std::memory_order_relaxed) - head.load(std::memory_order_relaxed);
  }
};

struct SharedReceiveQueue {
  ibv_srq ibv{};  // first
  ReceiveQueue queue;
  std::uint32_t number = 0;
  std::atomic<int> users{0};                 // queue pairs
  std::uint64_t delivered_async_events = 0;  // guarded by the context's event queue

  static SharedReceiveQueue* from(ibv_srq* srq) { return reinterpret_cast<SharedReceiveQueue*>(srq); }
};

}  // namespace rkv::soft
