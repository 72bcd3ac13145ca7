#include "backends/verbs/soft/verbs/queue_pair.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/verbs/soft/verbs/lines.hpp"

namespace rkv::soft {

namespace {

// A slot holds a request, its list (of one entry at least: inline data become a list of one), and inline
// data.
std::uint32_t inline_offset(std::size_t request_bytes, const ibv_qp_cap& cap) {
  return static_cast<std::uint32_t>(request_bytes + std::max(cap.max_send_sge, 1U) * sizeof(ibv_sge));
}

// The operand of an atomic write is always inline.
std::uint32_t inline_bytes(const ibv_qp_cap& cap) {
  return std::max(cap.max_inline_data, std::uint32_t{sizeof(std::uint64_t)});
}

}  // namespace

bool Builder::allocate(const ibv_qp_cap& cap) {
  inline_offset_bytes = inline_offset(sizeof(BuilderSlot), cap);
  stride_bytes = whole_lines(inline_offset_bytes + inline_bytes(cap));
  memory = ZeroedPages(std::size_t{std::max(cap.max_send_wr, 1U)} * stride_bytes);
  return memory.data() != nullptr;
}

bool Backlog::allocate(const ibv_qp_cap& cap) {
  inline_offset_bytes = inline_offset(sizeof(SendWqe), cap);
  stride_bytes = whole_lines(inline_offset_bytes + inline_bytes(cap));
  slot_mask = std::bit_ceil(std::max(cap.max_send_wr, 1U)) - 1;
  memory = ZeroedPages((std::size_t{slot_mask} + 1) * stride_bytes);
  return memory.data() != nullptr;
}

SendWqe& Backlog::push(const SendWqe& wqe) {
  SendWqe& slot = at(tail++);
  slot = wqe;
  auto* const bytes = reinterpret_cast<std::byte*>(&slot);
  auto* const list = reinterpret_cast<ibv_sge*>(bytes + sizeof(SendWqe));
  slot.sges = list;
  if (!wqe.is_inline()) {
    std::copy_n(wqe.sges, wqe.num_sge, list);
    return slot;
  }
  std::byte* const data = bytes + inline_offset_bytes;
  std::size_t filled = 0;
  for (std::uint32_t i = 0; i < wqe.num_sge; ++i) {
    std::memcpy(data + filled, reinterpret_cast<const void*>(wqe.sges[i].addr), wqe.sges[i].length);
    filled += wqe.sges[i].length;
  }
  list[0] = {
      .addr = reinterpret_cast<std::uint64_t>(data), .length = static_cast<std::uint32_t>(filled), .lkey = 0};
  slot.num_sge = 1;
  return slot;
}

}  // namespace rkv::soft
