// What soft0 doesn't have: multicast, enhanced connection establishment, and rsockets, which reach into
// librdmacm's own ids.
#include <rdma/rsocket.h>

#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"

using rkv::soft::cm::outcome;
using rkv::soft::cm::serves;

RKV_SOFT_EXPORT int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_join_multicast, "RDMACM_1.0", id, address, context);
  return outcome(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* wanted, void* context) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_join_multicast_ex, "RDMACM_1.1", id, wanted, context);
  return outcome(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_leave_multicast, "RDMACM_1.0", id, address);
  return outcome(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_set_local_ece, "RDMACM_1.3", id, ece);
  return outcome(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_get_remote_ece, "RDMACM_1.3", id, ece);
  return outcome(EOPNOTSUPP);
}

RKV_SOFT_EXPORT int rsocket(int domain, int type, int protocol) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rsocket, "RDMACM_1.0", domain, type, protocol);
  return outcome(EOPNOTSUPP);
}
