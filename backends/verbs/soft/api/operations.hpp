// The functions that verbs.h calls through a context of soft0 rather than by name. Internal to api/.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace rkv::soft {

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes);
int query_port(ibv_context* context, std::uint8_t port_num, ibv_port_attr* attributes, std::size_t bytes);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int poll_cq(ibv_cq* cq, int count, ibv_wc* completions);
int req_notify_cq(ibv_cq* cq, int solicited_only);

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* requests, ibv_recv_wr** bad_request);

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
int post_send_entry(ibv_qp* qp, ibv_send_wr* requests, ibv_send_wr** bad_request);
int post_recv(ibv_qp* qp, ibv_recv_wr* requests, ibv_recv_wr** bad_request);

// Sets the ibv_wr_* functions of an extended queue pair.
void install_builder(ibv_qp_ex& qp);
// Sets the readers of an extended completion queue.
void install_readers(ibv_cq_ex& cq);

}  // namespace rkv::soft
