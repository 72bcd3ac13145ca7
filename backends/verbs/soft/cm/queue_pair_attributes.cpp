// With what attributes the queue pair of an id goes through its states.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "backends/verbs/soft/cm/identifier.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint8_t default_ack_timeout = 14;  // 67 ms
constexpr std::uint8_t min_rnr_timer = 0;         // 655 ms, as with Linux: programs retry with that in mind

}  // namespace

ibv_ah_attr address_of(const ibv_gid& gid) {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = limits::port_num;
  address.grh.dgid = gid;
  address.grh.hop_limit = hop_limit;
  return address;
}

int Identifier::queue_pair_attributes(ibv_qp_attr& attributes, int& mask) const {
  const std::scoped_lock lock(Reactor::instance().mutex());
  const ibv_qp_type type = qp != nullptr ? qp->qp_type : qp_type;
  const bool reliable = type == IBV_QPT_RC;
  const ibv_qp_state state = attributes.qp_state;
  attributes = {};
  attributes.qp_state = state;
  mask = IBV_QP_STATE;
  switch (state) {
    case IBV_QPS_INIT:
      mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
      attributes.port_num = limits::port_num;
      if (type == IBV_QPT_UD) {
        mask |= IBV_QP_QKEY;
        attributes.qkey = RDMA_UDP_QKEY;
      } else {
        mask |= IBV_QP_ACCESS_FLAGS;
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        if (responder_resources_ != 0 && reliable) {
          attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
        }
      }
      return 0;
    case IBV_QPS_RTR:
      if (type == IBV_QPT_UD) return 0;
      if (!peer_) return EINVAL;
      mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      attributes.ah_attr = address_of(peer_->gid);
      attributes.path_mtu = std::min(static_cast<ibv_mtu>(peer_->mtu), wire::Endpoint::instance().mtu());
      attributes.dest_qp_num = peer_->qp_num;
      attributes.rq_psn = peer_->psn;
      if (reliable) {
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        attributes.max_dest_rd_atomic = responder_resources_;
        attributes.min_rnr_timer = min_rnr_timer;
      }
      return 0;
    case IBV_QPS_RTS:
      mask |= IBV_QP_SQ_PSN;
      attributes.sq_psn = type == IBV_QPT_UD ? 0 : psn_;
      if (reliable) {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        attributes.timeout = ack_timeout_.value_or(default_ack_timeout);
        attributes.retry_cnt = retry_count_;
        attributes.rnr_retry = rnr_retry_count_;
        attributes.max_rd_atomic = initiator_depth_;
      }
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace rkv::soft::cm
