// Endpoints: ids that are resolved or bound, and have a queue pair, by one call.
#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/identifiers.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"

namespace {

using rkv::soft::cm::Identifier;
using rkv::soft::cm::serves;

constexpr int timeout_ms = 2'000;

int make_passive(Identifier& id, const rdma_addrinfo& where, ibv_pd* pd, const ibv_qp_init_attr* wanted) {
  if (rdma_bind_addr(&id, where.ai_src_addr) != 0) return -1;
  if (pd != nullptr) id.pd = pd;
  if (wanted != nullptr) {
    id.child_queue_pairs = *wanted;
    id.child_queue_pairs->qp_type = static_cast<ibv_qp_type>(where.ai_qp_type);
  }
  return 0;
}

int make_active(Identifier& id, const rdma_addrinfo& where, ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (rdma_resolve_addr(&id, where.ai_src_addr, where.ai_dst_addr, timeout_ms) != 0 ||
      rdma_resolve_route(&id, timeout_ms) != 0) {
    return -1;
  }
  if (wanted != nullptr) {
    wanted->qp_type = static_cast<ibv_qp_type>(where.ai_qp_type);
    if (rdma_create_qp(&id, pd, wanted) != 0) return -1;
  }
  const auto* const data = static_cast<const std::byte*>(where.ai_connect);
  id.connect_data.assign(data, data + where.ai_connect_len);
  return 0;
}

}  // namespace

RKV_SOFT_EXPORT int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* where, ibv_pd* pd,
                                   ibv_qp_init_attr* wanted) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_ep, "RDMACM_1.0", id, where, pd, wanted);
  Identifier* const made =
      rkv::soft::cm::create_identifier(nullptr, nullptr, static_cast<rdma_port_space>(where->ai_port_space),
                                       static_cast<ibv_qp_type>(where->ai_qp_type));
  if (made == nullptr) return -1;
  const bool passive = (where->ai_flags & RAI_PASSIVE) != 0;
  if ((passive ? make_passive(*made, *where, pd, wanted) : make_active(*made, *where, pd, wanted)) != 0) {
    const int error = errno;
    rdma_destroy_ep(made);
    return rkv::soft::cm::outcome(error);
  }
  *id = made;
  return 0;
}

RKV_SOFT_EXPORT void rdma_destroy_ep(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_destroy_ep, "RDMACM_1.0", id);
  if (id->qp != nullptr) rdma_destroy_qp(id);
  if (id->srq != nullptr) rdma_destroy_srq(id);
  rdma_destroy_id(id);
}
