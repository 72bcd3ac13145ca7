#include "backends/verbs/soft/verbs/receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace rkv::soft {

bool ReceiveQueue::allocate(std::uint32_t wr_count, std::uint32_t sge_count) {
  constexpr std::uint32_t line_bytes = 64;
  max_wr = wr_count;
  max_sge = sge_count;
  const auto wqe_bytes = static_cast<std::uint32_t>(sizeof(ReceiveWqe) + sge_count * sizeof(ibv_sge));
  stride_bytes = (wqe_bytes + line_bytes - 1) / line_bytes * line_bytes;
  slot_mask = std::bit_ceil(std::max(wr_count, 1U)) - 1;
  memory = ZeroedPages((std::size_t{slot_mask} + 1) * stride_bytes);
  slots = memory.data();
  return slots != nullptr;
}

int ReceiveQueue::post(const ibv_recv_wr& wr) noexcept {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sge) {
    return EINVAL;
  }
  const std::uint32_t position = tail.load(std::memory_order_relaxed);
  if (position - known_head >= max_wr) {
    known_head = head.load(std::memory_order_acquire);
    if (position - known_head >= max_wr) {
      return ENOMEM;
    }
  }
  ReceiveWqe& wqe = at(position);
  wqe.num_sge = static_cast<std::uint32_t>(wr.num_sge);
  wqe.wr_id = wr.wr_id;
  std::copy_n(wr.sg_list, wr.num_sge, wqe.sges());
  tail.store(position + 1, std::memory_order_relaxed);
  wqe.sequence.store(position + 1, std::memory_order_release);
  return 0;
}

}  // namespace rkv::soft
