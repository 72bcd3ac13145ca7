// The queue pair, shared receive queue and completion queues of an id.
#include "backends/verbs/soft/api/queue_pair_creation.hpp"
#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"
#include "backends/verbs/soft/cm/api/queue_pair_states.hpp"

namespace rkv::soft::cm {

int change_state(const Identifier& id, ibv_qp& qp, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  const int error = id.queue_pair_attributes(attributes, mask);
  return error != 0 ? error : ibv_modify_qp(&qp, &attributes, mask);
}

int make_ready_to_send(const Identifier& id) {
  if (id.qp == nullptr) return 0;
  // INIT once more: what the peer may do is known only now.
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (const int error = change_state(id, *id.qp, state); error != 0) return error;
  }
  return 0;
}

void make_broken(const Identifier& id) {
  if (id.qp == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(id.qp, &attributes, IBV_QP_STATE);
}

namespace {

void destroy_queues(rdma_cm_id& id) {
  if (id.recv_cq != nullptr) ibv_destroy_cq(id.recv_cq);
  if (id.send_cq != nullptr && id.send_cq != id.recv_cq) ibv_destroy_cq(id.send_cq);
  if (id.recv_cq_channel != nullptr) ibv_destroy_comp_channel(id.recv_cq_channel);
  if (id.send_cq_channel != nullptr && id.send_cq_channel != id.recv_cq_channel) {
    ibv_destroy_comp_channel(id.send_cq_channel);
  }
  id.recv_cq = id.send_cq = nullptr;
  id.recv_cq_channel = id.send_cq_channel = nullptr;
}

// Null, or a completion queue of the id's own with its channel.
ibv_cq* create_queue(rdma_cm_id& id, std::uint32_t entries, ibv_comp_channel*& channel) {
  channel = ibv_create_comp_channel(id.verbs);
  return channel == nullptr ? nullptr : ibv_create_cq(id.verbs, static_cast<int>(entries), &id, channel, 0);
}

// Those that the creator of a queue pair doesn't bring along.
bool complete_queues(rdma_cm_id& id, ibv_qp_init_attr_ex& wanted) {
  if (wanted.recv_cq == nullptr && id.recv_cq == nullptr && wanted.cap.max_recv_wr != 0) {
    id.recv_cq = create_queue(id, wanted.cap.max_recv_wr, id.recv_cq_channel);
    if (id.recv_cq == nullptr) return false;
  }
  if (wanted.send_cq == nullptr && id.send_cq == nullptr && wanted.cap.max_send_wr != 0) {
    id.send_cq = create_queue(id, wanted.cap.max_send_wr, id.send_cq_channel);
    if (id.send_cq == nullptr) return false;
  }
  if (wanted.recv_cq == nullptr) wanted.recv_cq = id.recv_cq;
  if (wanted.send_cq == nullptr) wanted.send_cq = id.send_cq;
  return true;
}

int prepare(const Identifier& id, ibv_qp& qp) {
  if (const int error = change_state(id, qp, IBV_QPS_INIT); error != 0 || qp.qp_type != IBV_QPT_UD)
    return error;
  const int error = change_state(id, qp, IBV_QPS_RTR);
  return error != 0 ? error : change_state(id, qp, IBV_QPS_RTS);
}

int create_queue_pair(Identifier& id, ibv_qp_init_attr_ex& wanted) {
  if (id.qp != nullptr || id.verbs == nullptr) return EINVAL;
  if ((wanted.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || wanted.pd == nullptr) {
    wanted.comp_mask |= IBV_QP_INIT_ATTR_PD;
    wanted.pd = id.pd;
  }
  if (wanted.pd->context != id.verbs) return EINVAL;
  const auto differ = [](const ibv_cq* has, const ibv_cq* wants) {
    return has != nullptr && wants != nullptr && has != wants;
  };
  if (differ(id.recv_cq, wanted.recv_cq) || differ(id.send_cq, wanted.send_cq)) return EINVAL;
  if (!complete_queues(id, wanted)) {
    const int error = errno;
    destroy_queues(id);
    return error;
  }
  if (wanted.srq == nullptr) wanted.srq = id.srq;
  ibv_qp* const qp = ibv_create_qp_ex(id.verbs, &wanted);
  int error = qp == nullptr ? errno : prepare(id, *qp);
  if (error != 0) {
    if (qp != nullptr) ibv_destroy_qp(qp);
    destroy_queues(id);
    return error;
  }
  id.pd = qp->pd;
  id.qp = qp;
  return 0;
}

}  // namespace
}  // namespace rkv::soft::cm

using rkv::soft::cm::Identifier;
using rkv::soft::cm::outcome;
using rkv::soft::cm::serves;

RKV_SOFT_EXPORT int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_qp_ex, "RDMACM_1.0", id, wanted);
  return outcome(rkv::soft::cm::create_queue_pair(*Identifier::from(id), *wanted));
}

RKV_SOFT_EXPORT int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_qp, "RDMACM_1.0", id, pd, wanted);
  ibv_qp_init_attr_ex extended = rkv::soft::extended(pd, *wanted);
  const int error = rkv::soft::cm::create_queue_pair(*Identifier::from(id), extended);
  wanted->send_cq = extended.send_cq;
  wanted->recv_cq = extended.recv_cq;
  wanted->srq = extended.srq;
  wanted->cap = extended.cap;
  return outcome(error);
}

RKV_SOFT_EXPORT void rdma_destroy_qp(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_destroy_qp, "RDMACM_1.0", id);
  ibv_destroy_qp(id->qp);
  id->qp = nullptr;
  rkv::soft::cm::destroy_queues(*id);
}

RKV_SOFT_EXPORT int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_srq_ex, "RDMACM_1.0", id, wanted);
  if (id->verbs == nullptr || (wanted->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0) return outcome(EINVAL);
  if ((wanted->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || wanted->pd == nullptr) {
    wanted->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    wanted->pd = id->pd;
  }
  ibv_srq* const srq = ibv_create_srq_ex(id->verbs, wanted);
  if (srq == nullptr) return -1;
  if (id->pd == nullptr) id->pd = wanted->pd;
  id->srq = srq;
  return 0;
}

RKV_SOFT_EXPORT int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_srq, "RDMACM_1.0", id, pd, wanted);
  ibv_srq_init_attr_ex extended{};
  extended.srq_context = wanted->srq_context;
  extended.attr = wanted->attr;
  extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  extended.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
  extended.pd = pd;
  const int result = rdma_create_srq_ex(id, &extended);
  wanted->attr = extended.attr;
  return result;
}

RKV_SOFT_EXPORT void rdma_destroy_srq(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_destroy_srq, "RDMACM_1.0", id);
  ibv_destroy_srq(id->srq);
  id->srq = nullptr;
  rkv::soft::cm::destroy_queues(*id);
}

RKV_SOFT_EXPORT int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_init_qp_attr, "RDMACM_1.2", id, attributes, mask);
  return outcome(Identifier::from(id)->queue_pair_attributes(*attributes, *mask));
}
