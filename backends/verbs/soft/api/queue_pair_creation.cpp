// Creating queue pairs.
#include <cerrno>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/api/queue_pair_creation.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
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
  ibv_qp_init_attr_ex wanted = extended(pd, *attributes);
  ibv_qp* const qp = create(wanted);
  attributes->cap = wanted.cap;
  return qp;
}

RKV_SOFT_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_qp_to_qp_ex, "IBVERBS_1.6", qp);
  }
  ibv_qp_ex* const extended = &QueuePair::from(qp)->ibv;
  return extended->wr_start == nullptr ? nullptr : extended;
}
