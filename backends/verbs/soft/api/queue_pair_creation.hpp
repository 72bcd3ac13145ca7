// What ibv_create_qp and rdma_create_qp are asked for, as their extended forms take it.
#pragma once

#include <infiniband/verbs.h>

namespace rkv::soft {

inline ibv_qp_init_attr_ex extended(ibv_pd* pd, const ibv_qp_init_attr& wanted) {
  ibv_qp_init_attr_ex result{};
  result.qp_context = wanted.qp_context;
  result.send_cq = wanted.send_cq;
  result.recv_cq = wanted.recv_cq;
  result.srq = wanted.srq;
  result.cap = wanted.cap;
  result.qp_type = wanted.qp_type;
  result.sq_sig_all = wanted.sq_sig_all;
  result.comp_mask = IBV_QP_INIT_ATTR_PD;
  result.pd = pd;
  return result;
}

}  // namespace rkv::soft
