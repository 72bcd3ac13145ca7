#include "backends/verbs/soft/transport/admission.hpp"

#include <cerrno>

#include "backends/verbs/soft/verbs/address_handle.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"

namespace rkv::soft {
namespace {

// 0, EINVAL (not on this transport) or EOPNOTSUPP (not on this device).
int check_opcode(ibv_qp_type type, ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return 0;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return type == IBV_QPT_UD ? EINVAL : 0;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_WRITE:
      return type == IBV_QPT_RC ? 0 : EINVAL;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_BIND_MW:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_TSO:
    case IBV_WR_DRIVER1:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

}  // namespace

int admit(QueuePair& qp, const ibv_send_wr& request, SendWqe& wqe) {
  switch (qp.state.load(std::memory_order_acquire)) {
    case IBV_QPS_RTS:
    case IBV_QPS_SQD:
    case IBV_QPS_SQE:
    case IBV_QPS_ERR:
      break;
    default:
      return EINVAL;
  }
  if (const int error = check_opcode(qp.type, request.opcode); error != 0) {
    return error;
  }
  constexpr unsigned known_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
  if ((request.send_flags & ~known_flags) != 0) {
    return EINVAL;
  }
  if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > qp.cap.max_send_sge) {
    return EINVAL;
  }
  if (qp.posted_sends - qp.known_retired_sends >= qp.cap.max_send_wr) {
    qp.known_retired_sends = qp.completions.retired_sends.load(std::memory_order_acquire);
    if (qp.posted_sends - qp.known_retired_sends >= qp.cap.max_send_wr) {
      return ENOMEM;
    }
  }
  wqe.wr_id = request.wr_id;
  wqe.opcode = request.opcode;
  wqe.send_flags = request.send_flags | (qp.signal_all ? unsigned{IBV_SEND_SIGNALED} : 0U);
  wqe.imm_data = request.imm_data;
  wqe.sges = request.sg_list;
  wqe.num_sge = static_cast<std::uint32_t>(request.num_sge);
  wqe.length_bytes = 0;
  for (std::uint32_t i = 0; i < wqe.num_sge; ++i) {
    wqe.length_bytes += request.sg_list[i].length;
  }
  const std::uint64_t inline_limit =
      wqe.opcode == IBV_WR_ATOMIC_WRITE ? atomic_bytes : qp.cap.max_inline_data;
  if (wqe.is_inline() && (wqe.length_bytes > inline_limit || is_response_scattered(wqe.opcode))) {
    return EINVAL;
  }
  if (qp.type == IBV_QPT_UD) {
    if (request.wr.ud.ah == nullptr || ProtectionDomain::protection_of(request.wr.ud.ah->pd) != qp.pd) {
      return EINVAL;
    }
    const AddressHandle& address = *AddressHandle::from(request.wr.ud.ah);
    constexpr std::uint32_t privileged_qkey = 0x8000'0000;
    wqe.remote_qpn = request.wr.ud.remote_qpn & limits::qpn_mask;
    wqe.remote_qkey = (request.wr.ud.remote_qkey & privileged_qkey) != 0
                          ? qp.qkey.load(std::memory_order_relaxed)
                          : request.wr.ud.remote_qkey;
    wqe.destination = address.destination;
    wqe.service_level = address.attributes.sl;
    wqe.traffic_class = address.attributes.grh.traffic_class;
    wqe.hop_limit = address.attributes.grh.hop_limit;
  } else if (is_atomic(request.opcode)) {
    wqe.remote_addr = request.wr.atomic.remote_addr;
    wqe.compare_add = request.wr.atomic.compare_add;
    wqe.swap = request.wr.atomic.swap;
    wqe.rkey = request.wr.atomic.rkey;
  } else {
    wqe.remote_addr = request.wr.rdma.remote_addr;
    wqe.rkey = request.wr.rdma.rkey;
  }
  wqe.not_before_ns = FaultStream::active() ? FaultStream::not_before_ns() : 0;
  wqe.send_end = ++qp.posted_sends;
  return 0;
}

}  // namespace rkv::soft
