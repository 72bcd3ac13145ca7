// What a send request must fulfil to be posted at all, and which opcodes are what.
#pragma once

#include <infiniband/verbs.h>

#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

inline constexpr std::uint64_t atomic_bytes = sizeof(std::uint64_t);

inline bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

// Data come back and are written into the request's list.
inline bool is_response_scattered(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || is_atomic(opcode);
}

// Checks one request against the queue pair and translates it. 0 or an errno value. Under the send lock.
int admit(QueuePair& qp, const ibv_send_wr& request, SendWqe& wqe);

}  // namespace rkv::soft
