#include "backends/verbs/soft/verbs/receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "backends/verbs/soft/verbs/lines.hpp"

namespace rkv::soft {
bool ReceiveQueue::allocate(std::uint32_t wr_count, std::uint32_t sge_count,
                            const std::atomic<std::uint32_t>* retired_count) {
  retired = retired_count != nullptr ? retired_count : &head;
  max_wr = wr_count;
  max_sge = sge_count;
  stride_bytes = whole_lines(static_cast<std::uint32_t>(sizeof(ReceiveWqe) + sge_count * sizeof(ibv_sge)));
  // More slots than receives: the slot that is posted next is then never the one that is consumed next, and
  // the posting core can fetch it ahead.
  slot_mask = std::bit_ceil(wr_count + 2) - 1;
  memory = ZeroedPages((std::size_t{slot_mask} + 1) * stride_bytes);
  slots = memory.data();
  return slots != nullptr;
}

int ReceiveQueue::post(const ibv_recv_wr& wr) noexcept {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sge) {
    return EINVAL;
  }
  const std::uint32_t position = tail.load(std::memory_order_relaxed);
  if (position - known_retired >= max_wr) {
    known_retired = retired->load(std::memory_order_acquire);
    if (position - known_retired >= max_wr) {
      return ENOMEM;
    }
  }
  ReceiveWqe& wqe = at(position);
  wqe.num_sge = static_cast<std::uint32_t>(wr.num_sge);
  wqe.wr_id = wr.wr_id;
  std::copy_n(wr.sg_list, wr.num_sge, wqe.sges());
  tail.store(position + 1, std::memory_order_relaxed);
  wqe.sequence.store(position + 1, std::memory_order_release);
  __builtin_prefetch(&at(position + 1), 1);
  return 0;
}

void ReceiveQueue::prefetch() const noexcept {
  constexpr std::uintptr_t buffer_bytes = 512;
  const std::uint32_t position = head.load(std::memory_order_relaxed);
  if (ReceiveWqe& next = at(position);
      next.sequence.load(std::memory_order_acquire) == position + 1 && next.num_sge > 0) {
    const ibv_sge& first = next.sges()[0];
    for (std::uintptr_t offset = 0; offset < std::min<std::uintptr_t>(first.length, buffer_bytes);
         offset += line_bytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(first.addr + offset), 1);
    }
  }
  __builtin_prefetch(&at(position + 1));
}

}  // namespace rkv::soft
