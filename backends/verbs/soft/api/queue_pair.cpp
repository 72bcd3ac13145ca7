// Queue pairs: creation, state, destruction.
#include <cerrno>
#include <mutex>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/transport/retry_timing.hpp"
#include "backends/verbs/soft/transport/timers.hpp"
#include "backends/verbs/soft/verbs/address_handle.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/qp_transitions.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"

namespace rkv::soft {
namespace {

constexpr std::uint64_t rc_operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;
constexpr std::uint64_t uc_operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr std::uint64_t ud_operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

std::uint64_t operations_of(ibv_qp_type type) {
  return type == IBV_QPT_RC ? rc_operations : type == IBV_QPT_UC ? uc_operations : ud_operations;
}

// 0 or an errno value.
int check_creation(const ibv_qp_init_attr_ex& attributes) {
  constexpr std::uint32_t known =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const ibv_qp_type type = attributes.qp_type;
  if (type != IBV_QPT_RC && type != IBV_QPT_UC && type != IBV_QPT_UD) {
    return EOPNOTSUPP;
  }
  if ((attributes.comp_mask & ~known) != 0 ||
      ((attributes.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attributes.create_flags != 0) ||
      ((attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
       (attributes.send_ops_flags & ~operations_of(type)) != 0)) {
    return EOPNOTSUPP;
  }
  if (type == IBV_QPT_UC && attributes.srq != nullptr) {
    return EINVAL;  // ibv_create_qp(3)
  }
  const ibv_qp_cap& cap = attributes.cap;
  const bool within_limits = cap.max_send_wr <= limits::max_qp_wr && cap.max_recv_wr <= limits::max_qp_wr &&
                             cap.max_send_sge <= limits::max_sge && cap.max_recv_sge <= limits::max_sge &&
                             cap.max_inline_data <= limits::max_inline_bytes;
  return within_limits && attributes.pd != nullptr && attributes.send_cq != nullptr &&
                 attributes.recv_cq != nullptr
             ? 0
             : EINVAL;
}

ibv_qp* create(ibv_qp_init_attr_ex& attributes) {
  if (const int error = check_creation(attributes); error != 0) {
    errno = error;
    return nullptr;
  }
  ibv_qp_cap cap = attributes.cap;
  if (attributes.srq != nullptr) {
    cap.max_recv_wr = 0;
    cap.max_recv_sge = 0;
  }
  const bool builds = (attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  auto* const qp = new (std::nothrow) QueuePair;
  if (qp == nullptr || !qp->backlog.allocate(cap) ||
      !qp->own_receives.allocate(cap.max_recv_wr, cap.max_recv_sge, &qp->completions.retired_receives) ||
      (builds && !qp->builder.allocate(cap))) {
    delete qp;
    errno = ENOMEM;
    return nullptr;
  }
  ibv_pd* const pd = attributes.pd;
  qp->context = Context::from(pd->context);
  qp->pd = ProtectionDomain::protection_of(pd);
  qp->send_cq = CompletionQueue::from(attributes.send_cq);
  qp->recv_cq = CompletionQueue::from(attributes.recv_cq);
  qp->srq = attributes.srq == nullptr ? nullptr : SharedReceiveQueue::from(attributes.srq);
  qp->own_receives.pd = qp->pd;
  qp->receives = qp->srq == nullptr ? &qp->own_receives : &qp->srq->queue;
  qp->cap = cap;
  qp->type = attributes.qp_type;
  qp->signal_all = attributes.sq_sig_all != 0;
  if (!QueuePairTable::instance().insert(*qp)) {
    delete qp;
    errno = ENOMEM;
    return nullptr;
  }
  ibv_qp& base = qp->base();
  base.context = pd->context;
  base.qp_context = attributes.qp_context;
  base.pd = pd;
  base.send_cq = attributes.send_cq;
  base.recv_cq = attributes.recv_cq;
  base.srq = attributes.srq;
  base.handle = qp->number();
  base.qp_num = qp->number();
  base.state = IBV_QPS_RESET;
  base.qp_type = attributes.qp_type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  if (builds) {
    qp->send_operations = attributes.send_ops_flags;
    install_builder(qp->ibv);
  }
  ProtectionDomain::from(pd)->users.fetch_add(1);
  qp->send_cq->users.fetch_add(1);
  qp->recv_cq->users.fetch_add(1);
  if (qp->srq != nullptr) {
    qp->srq->users.fetch_add(1);
  }
  qp->context->hold();
  attributes.cap = cap;
  return &base;
}

// Takes all requests and receives out of the queues. With control held only.
void empty_queues(QueuePair& qp) {
  const std::scoped_lock send(qp.send_lock);
  leave_starved_list(qp);
  Timers::instance().cancel(qp);
  qp.stall = Stall::none;
  qp.backlog.head = qp.backlog.tail;
  qp.peer = nullptr;
  qp.faults.held.reset();
  const std::scoped_lock receive(qp.receive_lock);
  qp.communication_established = false;
  const std::scoped_lock producer(qp.own_receives.producer_lock);
  while (qp.own_receives.peek() != nullptr) {
    qp.own_receives.advance();
  }
}

// Makes all places in the queues free. No completion may be left whose poll would free one once more.
void free_places(QueuePair& qp) {
  const std::scoped_lock send(qp.send_lock);
  qp.posted_sends = 0;
  qp.known_retired_sends = 0;
  qp.completions.retired_sends.store(0, std::memory_order_relaxed);
  const std::scoped_lock producer(qp.own_receives.producer_lock);
  qp.own_receives.known_retired = qp.own_receives.tail.load(std::memory_order_relaxed);
  qp.completions.retired_receives.store(qp.own_receives.known_retired, std::memory_order_relaxed);
}

// Empties the queue pair: no request, no receive, no completion of it is left, and no peer is about to add
// one. The state must already keep peers and posters away. With control held only.
void empty(QueuePair& qp) {
  QueuePairTable::instance().wait_for_data_path([&](QueuePair& other) {
    if (other.peer == &qp) {
      other.peer = nullptr;
      // It may starve at this one's receive queue, or at the shared one on behalf of this one.
      leave_starved_list(other);
    }
  });
  empty_queues(qp);
  qp.send_cq->remove(qp.completions);
  if (qp.recv_cq != qp.send_cq) {
    qp.recv_cq->remove(qp.completions);
  }
  free_places(qp);
}

// 0 or EINVAL.
int check_values(const ibv_qp_attr& attributes, int mask) {
  const auto wrong = [&](int bit, bool valid) { return (mask & bit) != 0 && !valid; };
  constexpr unsigned known_access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  const bool invalid =
      wrong(IBV_QP_PORT, attributes.port_num == limits::port_num) ||
      wrong(IBV_QP_PKEY_INDEX, attributes.pkey_index < limits::pkey_table_entries) ||
      wrong(IBV_QP_ACCESS_FLAGS, (attributes.qp_access_flags & ~known_access) == 0) ||
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
    qp.local_destination.store(is_local_destination(now.ah_attr), std::memory_order_relaxed);
    qp.peer = nullptr;
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
    const bool begun = qp.stall == Stall::receiver_not_ready || qp.stall == Stall::no_answer;
    if (!begun && qp.drain_notify) {
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

void destroy(QueuePair& qp) {
  {
    const std::scoped_lock control(qp.control);
    QueuePairTable::instance().hide(qp);
    {
      const std::scoped_lock send(qp.send_lock);
      const std::scoped_lock receive(qp.receive_lock);
      qp.state.store(IBV_QPS_RESET, std::memory_order_release);
    }
    empty(qp);
    // Those who still hold a pointer (the timer thread, a posting receiver, a failing peer) find nothing to
    // do.
    Backoff backoff;
    while (qp.pins.load(std::memory_order_acquire) != 0) {
      backoff.pause();
    }
  }
  QueuePairTable::instance().release(qp);
  ibv_qp& base = qp.base();
  const std::uint64_t events = qp.context->remove_events(qp.delivered_async_events);
  pthread_mutex_lock(&base.mutex);
  while (base.events_completed != static_cast<std::uint32_t>(events)) {
    pthread_cond_wait(&base.cond, &base.mutex);
  }
  pthread_mutex_unlock(&base.mutex);
  pthread_mutex_destroy(&base.mutex);
  pthread_cond_destroy(&base.cond);
  ProtectionDomain::from(base.pd)->users.fetch_sub(1);
  qp.send_cq->users.fetch_sub(1);
  qp.recv_cq->users.fetch_sub(1);
  if (qp.srq != nullptr) {
    qp.srq->users.fetch_sub(1);
  }
  Context* const context = qp.context;
  delete &qp;
  context->drop();
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attributes) {
  if ((attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) {
    errno = EINVAL;
    return nullptr;
  }
  return create(*attributes);
}

int post_send_entry(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad_request) {
  return post_send(*QueuePair::from(qp), requests, bad_request);
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_create_qp, "IBVERBS_1.1", pd, attributes);
  }
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attributes->qp_context;
  extended.send_cq = attributes->send_cq;
  extended.recv_cq = attributes->recv_cq;
  extended.srq = attributes->srq;
  extended.cap = attributes->cap;
  extended.qp_type = attributes->qp_type;
  extended.sq_sig_all = attributes->sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  ibv_qp* const qp = create(extended);
  attributes->cap = extended.cap;
  return qp;
}

RKV_SOFT_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_qp_to_qp_ex, "IBVERBS_1.6", qp);
  }
  ibv_qp_ex* const extended = &QueuePair::from(qp)->ibv;
  return extended->wr_start == nullptr ? nullptr : extended;
}

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
    attributes->sq_draining = attributes->qp_state == IBV_QPS_SQD &&
                              (qp.stall == Stall::receiver_not_ready || qp.stall == Stall::no_answer);
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

RKV_SOFT_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_qp, "IBVERBS_1.1", qp);
  }
  destroy(*QueuePair::from(qp));
  return 0;
}
