// Modifying and querying queue pairs.
#include <cerrno>
#include <mutex>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/queue_pair_teardown.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/verbs/address_handle.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/qp_transitions.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/progress.hpp"
#include "backends/verbs/soft/wire/psn.hpp"

namespace rkv::soft {
namespace {

// 0 or EINVAL.
int check_values(const ibv_qp_attr& attributes, int mask) {
  const auto wrong = [&](int bit, bool valid) { return (mask & bit) != 0 && !valid; };
  constexpr unsigned known_remote_access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  const bool invalid =
      wrong(IBV_QP_PORT, attributes.port_num == limits::port_num) ||
      wrong(IBV_QP_PKEY_INDEX, attributes.pkey_index < limits::pkey_table_entries) ||
      wrong(IBV_QP_ACCESS_FLAGS, (attributes.qp_access_flags & ~known_remote_access) == 0) ||
      wrong(IBV_QP_PATH_MTU, attributes.path_mtu >= IBV_MTU_256 && attributes.path_mtu <= IBV_MTU_4096) ||
      wrong(IBV_QP_AV, check_address(attributes.ah_attr) == 0) ||
      wrong(IBV_QP_DEST_QPN, attributes.dest_qp_num <= limits::qpn_mask) ||
      wrong(IBV_QP_TIMEOUT, attributes.timeout < 32) || wrong(IBV_QP_RETRY_CNT, attributes.retry_cnt < 8) ||
      wrong(IBV_QP_RNR_RETRY, attributes.rnr_retry < 8) ||
      wrong(IBV_QP_MIN_RNR_TIMER, attributes.min_rnr_timer < 32) ||
      wrong(IBV_QP_MAX_QP_RD_ATOMIC, attributes.max_rd_atomic <= limits::max_rd_atomic) ||
      wrong(IBV_QP_MAX_DEST_RD_ATOMIC, attributes.max_dest_rd_atomic <= limits::max_rd_atomic) ||
      wrong(IBV_QP_ALT_PATH, false) ||  // there is one path only
      wrong(IBV_QP_PATH_MIG_STATE, attributes.path_mig_state == IBV_MIG_MIGRATED);
  return invalid ? EINVAL : 0;
}

// Takes over what the mask names; with control held.
void remember(ibv_qp_attr& stored, const ibv_qp_attr& given, int mask) {
  const auto take = [&](int bit, auto ibv_qp_attr::*member) {
    if ((mask & bit) != 0) {
      stored.*member = given.*member;
    }
  };
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_PATH_MIG_STATE, &ibv_qp_attr::path_mig_state);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, &ibv_qp_attr::en_sqd_async_notify);
}

// Makes the attributes effective; with the send and the receive lock held.
void apply(QueuePair& qp, int mask) {
  const ibv_qp_attr& now = qp.attributes;
  qp.dest_qpn.store(now.dest_qp_num, std::memory_order_relaxed);
  qp.access_flags.store(now.qp_access_flags, std::memory_order_relaxed);
  qp.qkey.store(now.qkey, std::memory_order_relaxed);
  qp.min_rnr_timer.store(now.min_rnr_timer, std::memory_order_relaxed);
  qp.max_dest_rd_atomic.store(now.max_dest_rd_atomic, std::memory_order_relaxed);
  qp.max_rd_atomic = now.max_rd_atomic;
  qp.timeout = now.timeout;
  qp.drain_notify = now.en_sqd_async_notify != 0;
  if ((mask & (IBV_QP_AV | IBV_QP_DEST_QPN)) != 0) {
    qp.peer_address.store(wire::address_of(now.ah_attr.grh.dgid), std::memory_order_relaxed);
    qp.peer = nullptr;
    if (qp.is_connected() && wire::leads_elsewhere(qp)) {
      wire::connect(qp);
    }
  }
  if (qp.remote != nullptr && (mask & IBV_QP_RQ_PSN) != 0) {
    qp.remote->responder.expected_psn = now.rq_psn & wire::psn_mask;
  }
  if ((mask & IBV_QP_SQ_PSN) != 0) {
    qp.datagram_psn = now.sq_psn & wire::psn_mask;
    if (qp.remote != nullptr) {
      qp.remote->requester.next_psn = qp.datagram_psn;
      qp.remote->requester.acknowledged = qp.datagram_psn;
      qp.remote->requester.asked = qp.datagram_psn;
      qp.remote->requester.sent = qp.datagram_psn;
    }
  }
  if ((mask & IBV_QP_RETRY_CNT) != 0) {
    qp.retry_cnt = now.retry_cnt;
    qp.retries_left = now.retry_cnt;
  }
  if ((mask & IBV_QP_RNR_RETRY) != 0) {
    qp.rnr_retry = now.rnr_retry;
    qp.rnr_retries_left = now.rnr_retry;
  }
}

// With both locks held, after the state was set.
void enter(QueuePair& qp, ibv_qp_state from, ibv_qp_state to, Aftermath& aftermath) {
  if (to == IBV_QPS_ERR && from != IBV_QPS_ERR) {
    finish_failure(qp, aftermath);
  } else if (to == IBV_QPS_SQD && from != IBV_QPS_SQD) {
    if (has_begun(qp)) {
      hasten(qp, aftermath);
    } else if (qp.drain_notify) {
      qp.raise(IBV_EVENT_SQ_DRAINED);
    }
  }
}

int modify(QueuePair& qp, const ibv_qp_attr& attributes, int mask) {
  const std::scoped_lock control(qp.control);
  const ibv_qp_state from = qp.state.load(std::memory_order_acquire);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : from;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != from) {
    return EINVAL;
  }
  if (!is_allowed_transition(qp.type, from, to, mask) || check_values(attributes, mask) != 0) {
    return EINVAL;
  }
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
    wire::Progress::acknowledge_all();
  }
  // There is one path only: another address would be another peer.
  if (from == IBV_QPS_SQD && (mask & IBV_QP_AV) != 0 &&
      wire::address_of(attributes.ah_attr.grh.dgid) != qp.peer_address.load(std::memory_order_relaxed)) {
    return EINVAL;
  }
  Aftermath aftermath;
  {
    const std::scoped_lock send(qp.send_lock);
    const std::scoped_lock receive(qp.receive_lock);
    // A peer may have failed this queue pair since; only a reset leads out of that.
    if (qp.state.load(std::memory_order_relaxed) == IBV_QPS_ERR && from != IBV_QPS_ERR &&
        to != IBV_QPS_RESET) {
      return to == IBV_QPS_ERR ? 0 : EINVAL;
    }
    remember(qp.attributes, attributes, mask);
    apply(qp, mask);
    qp.state.store(to, std::memory_order_release);
    qp.base().state = to;
    enter(qp, from, to, aftermath);
  }
  if (to == IBV_QPS_RTR && qp.remote != nullptr) {
    wire::Progress::expect_packets();
  } else if (to == IBV_QPS_RTR && !qp.is_connected()) {
    wire::Progress::start();
  }
  if (to == IBV_QPS_RESET) {
    empty(qp);
    qp.attributes = {};
  } else if (to == IBV_QPS_ERR) {
    QueuePairTable::instance().wait_for_data_path();  // no message is still being written into its memory
  } else if (to == IBV_QPS_RTS && from != IBV_QPS_RTS) {
    const std::scoped_lock send(qp.send_lock);
    resume(qp, aftermath);
  }
  settle(aftermath);
  return 0;
}

}  // namespace
}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_modify_qp, "IBVERBS_1.1", qp, attributes, mask);
  }
  return modify(*QueuePair::from(qp), *attributes, mask);
}

RKV_SOFT_EXPORT int ibv_query_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask,
                                 ibv_qp_init_attr* creation) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_query_qp, "IBVERBS_1.1", handle, attributes, mask, creation);
  }
  QueuePair& qp = *QueuePair::from(handle);
  const std::scoped_lock control(qp.control);
  *attributes = qp.attributes;
  {
    const std::scoped_lock send(qp.send_lock);
    attributes->qp_state = qp.state.load(std::memory_order_acquire);
    attributes->sq_draining = attributes->qp_state == IBV_QPS_SQD && has_begun(qp);
  }
  attributes->cur_qp_state = attributes->qp_state;
  attributes->cap = qp.cap;
  handle->state = attributes->qp_state;
  *creation = {.qp_context = handle->qp_context,
               .send_cq = handle->send_cq,
               .recv_cq = handle->recv_cq,
               .srq = handle->srq,
               .cap = qp.cap,
               .qp_type = handle->qp_type,
               .sq_sig_all = qp.signal_all ? 1 : 0};
  return 0;
}

RKV_SOFT_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_query_qp_data_in_order, "IBVERBS_1.14", qp, opcode, flags);
  }
  // One-sided data are written in address order, see transport/copy.hpp.
  return flags == 0 && (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM) ? 1 : 0;
}
