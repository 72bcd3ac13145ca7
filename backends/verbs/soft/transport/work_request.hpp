// A send work request as the transport sees it: one form for both posting interfaces, for work that is
// carried out at once and for work that waits in the send queue.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace rkv::soft {

struct SendWqe {
  std::uint64_t wr_id = 0;
  std::uint64_t remote_addr = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  // Inline data is described by the same list; its keys aren't looked at. Owned by the caller of post, or by
  // the backlog slot that this request was copied into.
  const ibv_sge* sges = nullptr;
  std::uint64_t length_bytes = 0;
  std::uint32_t num_sge = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint32_t send_flags = 0;  // with IBV_SEND_SIGNALED where the queue pair signals all
  std::uint32_t imm_data = 0;    // in network byte order
  std::uint32_t rkey = 0;
  std::uint32_t send_end = 0;       // the position after it in the send queue, modulo 2^32
  std::uint64_t not_before_ns = 0;  // of the monotonic clock; 0: at once
  // Datagrams only. The address is copied: a request may wait longer than its address handle lives.
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_qkey = 0;
  std::uint32_t destination = 0;  // IPv4, in the host's byte order; 0: none
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;

  bool is_inline() const { return (send_flags & IBV_SEND_INLINE) != 0; }
  bool is_signaled() const { return (send_flags & IBV_SEND_SIGNALED) != 0; }
  bool is_solicited() const { return (send_flags & IBV_SEND_SOLICITED) != 0; }
};

}  // namespace rkv::soft
