// Functions that libibverbs exports and soft0 refuses: they must not reach libibverbs with an object of ours.
#include <cerrno>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/verbs/context.hpp"

using rkv::soft::is_soft;

RKV_SOFT_EXPORT int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return is_soft(qp->context) ? EOPNOTSUPP : RKV_SOFT_NEXT(ibv_attach_mcast, "IBVERBS_1.1", qp, gid, lid);
}

RKV_SOFT_EXPORT int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return is_soft(qp->context) ? EOPNOTSUPP : RKV_SOFT_NEXT(ibv_detach_mcast, "IBVERBS_1.1", qp, gid, lid);
}

RKV_SOFT_EXPORT int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  return is_soft(qp->context) ? EOPNOTSUPP : RKV_SOFT_NEXT(ibv_set_ece, "IBVERBS_1.10", qp, ece);
}

RKV_SOFT_EXPORT int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  return is_soft(qp->context) ? EOPNOTSUPP : RKV_SOFT_NEXT(ibv_query_ece, "IBVERBS_1.10", qp, ece);
}

RKV_SOFT_EXPORT ibv_context* ibv_import_device(int cmd_fd) {
  if (!rkv::soft::CommandDescriptor::is_one(cmd_fd)) {
    return RKV_SOFT_NEXT(ibv_import_device, "IBVERBS_1.10", cmd_fd);
  }
  errno = EOPNOTSUPP;
  return nullptr;
}

RKV_SOFT_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t pd_handle) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_import_pd, "IBVERBS_1.10", context, pd_handle);
  }
  errno = EOPNOTSUPP;
  return nullptr;
}

RKV_SOFT_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t mr_handle) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_import_mr, "IBVERBS_1.10", pd, mr_handle);
  }
  errno = EOPNOTSUPP;
  return nullptr;
}

RKV_SOFT_EXPORT ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t dm_handle) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_import_dm, "IBVERBS_1.13", context, dm_handle);
  }
  errno = EOPNOTSUPP;
  return nullptr;
}
