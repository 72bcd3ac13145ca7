#include "backends/verbs/soft/api/operations.hpp"

#include "backends/verbs/soft/verbs/context.hpp"

namespace rkv::soft {

// What is left null here (memory windows, flows, XRC, device memory, counters, work queues, ...) verbs.h
// refuses with EOPNOTSUPP.
void install_operations(verbs_context& verbs) {
  verbs.query_device_ex = query_device_ex;
  verbs.query_port = query_port;
  verbs.query_rt_values = query_rt_values;
  verbs.alloc_td = alloc_td;
  verbs.dealloc_td = dealloc_td;
  verbs.alloc_parent_domain = alloc_parent_domain;
  verbs.create_cq_ex = create_cq_ex;
  verbs.create_srq_ex = create_srq_ex;
  verbs.get_srq_num = get_srq_num;
  verbs.create_qp_ex = create_qp_ex;
  ibv_context_ops& ops = verbs.context.ops;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send_entry;
  ops.post_recv = post_recv;
}

}  // namespace rkv::soft
