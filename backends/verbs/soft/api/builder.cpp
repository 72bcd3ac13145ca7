// The ibv_wr_* functions of extended queue pairs.
//
// // Between ibv_wr_start and ibv_wr_complete or ibv_wr_abort a thread has the builder to itself. Requests
// are only collected then; ibv_wr_complete posts all of them or, if any is wrong, none.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {
namespace {

void note_error(QueuePair& qp, int error) {
  if (qp.builder.error == 0) {
    qp.builder.error = error;
  }
}

// Begins the next request; null when there is no room for it.
BuilderSlot* begin(ibv_qp_ex* handle, ibv_wr_opcode opcode, std::uint64_t operation) {
  QueuePair& qp = *QueuePair::from(handle);
  if ((qp.send_operations & operation) == 0) {
    note_error(qp, EOPNOTSUPP);
    return nullptr;
  }
  if (qp.builder.count == qp.cap.max_send_wr) {
    note_error(qp, ENOMEM);
    return nullptr;
  }
  BuilderSlot& slot = qp.builder.at(qp.builder.count++);
  slot.request = {};
  slot.request.wr_id = handle->wr_id;
  slot.request.send_flags = handle->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  slot.request.opcode = opcode;
  slot.request.sg_list = slot.sges();
  return &slot;
}

// The request being built; null, with the error noted, when there is none.
BuilderSlot* current(ibv_qp_ex* handle) {
  QueuePair& qp = *QueuePair::from(handle);
  if (qp.builder.count == 0) {
    note_error(qp, EINVAL);
    return nullptr;
  }
  return &qp.builder.at(qp.builder.count - 1);
}

void begin_rdma(ibv_qp_ex* handle, ibv_wr_opcode opcode, std::uint64_t operation, std::uint32_t rkey,
                std::uint64_t remote_addr, __be32 imm_data = 0) {
  if (BuilderSlot* const slot = begin(handle, opcode, operation); slot != nullptr) {
    slot->request.wr.rdma.remote_addr = remote_addr;
    slot->request.wr.rdma.rkey = rkey;
    slot->request.imm_data = imm_data;
  }
}

void begin_atomic(ibv_qp_ex* handle, ibv_wr_opcode opcode, std::uint64_t operation, std::uint32_t rkey,
                  std::uint64_t remote_addr, std::uint64_t compare_add, std::uint64_t swap) {
  if (BuilderSlot* const slot = begin(handle, opcode, operation); slot != nullptr) {
    slot->request.wr.atomic.remote_addr = remote_addr;
    slot->request.wr.atomic.rkey = rkey;
    slot->request.wr.atomic.compare_add = compare_add;
    slot->request.wr.atomic.swap = swap;
  }
}

void begin_send(ibv_qp_ex* handle, ibv_wr_opcode opcode, std::uint64_t operation, __be32 imm_data = 0) {
  if (BuilderSlot* const slot = begin(handle, opcode, operation); slot != nullptr) {
    slot->request.imm_data = imm_data;
  }
}

void set_sge_list(ibv_qp_ex* handle, std::size_t count, const ibv_sge* sges) {
  QueuePair& qp = *QueuePair::from(handle);
  BuilderSlot* const slot = current(handle);
  if (slot == nullptr) {
    return;
  }
  if (count > qp.cap.max_send_sge) {
    note_error(qp, EINVAL);
    return;
  }
  std::copy_n(sges, count, slot->sges());
  slot->request.num_sge = static_cast<int>(count);
}

void set_inline_list(ibv_qp_ex* handle, std::size_t count, const ibv_data_buf* buffers) {
  QueuePair& qp = *QueuePair::from(handle);
  BuilderSlot* const slot = current(handle);
  if (slot == nullptr) {
    return;
  }
  std::byte* const data = qp.builder.inline_data(*slot);
  std::size_t filled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (buffers[i].length > qp.cap.max_inline_data - filled) {
      note_error(qp, EINVAL);
      return;
    }
    std::memcpy(data + filled, buffers[i].addr, buffers[i].length);
    filled += buffers[i].length;
  }
  slot->sges()[0] = {
      .addr = reinterpret_cast<std::uint64_t>(data), .length = static_cast<std::uint32_t>(filled), .lkey = 0};
  slot->request.num_sge = 1;
  slot->request.send_flags |= IBV_SEND_INLINE;
}

void start(ibv_qp_ex* handle) {
  QueuePair& qp = *QueuePair::from(handle);
  qp.builder.lock.lock();
  qp.builder.count = 0;
  qp.builder.error = 0;
}

int finish(ibv_qp_ex* handle) {
  QueuePair& qp = *QueuePair::from(handle);
  Builder& builder = qp.builder;
  int error = builder.error;
  Aftermath aftermath;
  {
    const std::scoped_lock send(qp.send_lock);
    const std::uint32_t posted_before = qp.posted_sends;
    for (std::uint32_t i = 0; error == 0 && i < builder.count; ++i) {
      error = admit(qp, builder.at(i).request, builder.at(i).wqe);
    }
    for (std::uint32_t i = 0; error == 0 && i < builder.count; ++i) {
      submit(qp, builder.at(i).wqe, aftermath);
    }
    send_submitted(qp, aftermath);
    if (error != 0) {
      qp.posted_sends = posted_before;
    }
  }
  builder.lock.unlock();
  settle(aftermath);
  return error;
}

}  // namespace

void install_builder(ibv_qp_ex& qp) {
  qp.wr_start = start;
  qp.wr_complete = finish;
  qp.wr_abort = [](ibv_qp_ex* at) { QueuePair::from(at)->builder.lock.unlock(); };

  qp.wr_send = [](ibv_qp_ex* at) { begin_send(at, IBV_WR_SEND, IBV_QP_EX_WITH_SEND); };
  qp.wr_send_imm = [](ibv_qp_ex* at, __be32 imm_data) {
    begin_send(at, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, imm_data);
  };
  qp.wr_rdma_write = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr) {
    begin_rdma(at, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, rkey, remote_addr);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr, __be32 imm_data) {
    begin_rdma(at, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, rkey, remote_addr,
               imm_data);
  };
  qp.wr_rdma_read = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr) {
    begin_rdma(at, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, rkey, remote_addr);
  };
  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr,
                            std::uint64_t compare, std::uint64_t swap) {
    begin_atomic(at, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
                 swap);
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr,
                              std::uint64_t add) {
    begin_atomic(at, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add,
                 0);
  };
  qp.wr_atomic_write = [](ibv_qp_ex* at, std::uint32_t rkey, std::uint64_t remote_addr, const void* value) {
    if (BuilderSlot* const slot = begin(at, IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE);
        slot != nullptr) {
      slot->request.wr.rdma = {.remote_addr = remote_addr, .rkey = rkey};
      std::memcpy(&slot->operand, value, sizeof slot->operand);
      slot->sges()[0] = {
          .addr = reinterpret_cast<std::uint64_t>(&slot->operand), .length = sizeof slot->operand, .lkey = 0};
      slot->request.num_sge = 1;
      slot->request.send_flags |= IBV_SEND_INLINE;
    }
  };

  qp.wr_set_ud_addr = [](ibv_qp_ex* at, ibv_ah* ah, std::uint32_t remote_qpn, std::uint32_t remote_qkey) {
    if (BuilderSlot* const slot = current(at); slot != nullptr) {
      slot->request.wr.ud = {.ah = ah, .remote_qpn = remote_qpn, .remote_qkey = remote_qkey};
    }
  };
  qp.wr_set_sge = [](ibv_qp_ex* at, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length) {
    const ibv_sge sge{.addr = addr, .length = length, .lkey = lkey};
    set_sge_list(at, 1, &sge);
  };
  qp.wr_set_sge_list = set_sge_list;
  qp.wr_set_inline_data = [](ibv_qp_ex* at, void* addr, std::size_t length) {
    const ibv_data_buf buffer{.addr = addr, .length = length};
    set_inline_list(at, 1, &buffer);
  };
  qp.wr_set_inline_data_list = set_inline_list;
}

}  // namespace rkv::soft
