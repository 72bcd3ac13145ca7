#include "backends/verbs/soft/verbs/qp_transitions.hpp"

#include <array>

namespace rkv::soft {
namespace {

struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  ibv_qp_type type;
  int required;
  int optional;
};

constexpr int address = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int connected_access = IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH;
constexpr int running_uc = IBV_QP_CUR_STATE | connected_access | IBV_QP_PATH_MIG_STATE;
constexpr int running_rc = running_uc | IBV_QP_MIN_RNR_TIMER;

constexpr std::array transitions{
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UD, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_UC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
               0},
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPT_RC, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
               0},

    Transition{IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_UC, 0,
               IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPT_RC, 0,
               IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},

    Transition{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UC, address, connected_access | IBV_QP_PKEY_INDEX},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_RC,
               address | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
               connected_access | IBV_QP_PKEY_INDEX},

    Transition{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UD, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UC, IBV_QP_SQ_PSN, running_uc},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_RC,
               IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
               running_rc},

    Transition{IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_UC, 0, running_uc},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPT_RC, 0, running_rc},

    Transition{IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_UD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    Transition{IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_UC, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    Transition{IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPT_RC, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},

    Transition{IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_UC, 0, running_uc},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPT_RC, 0, running_rc},

    Transition{IBV_QPS_SQD, IBV_QPS_SQD, IBV_QPT_UD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    Transition{IBV_QPS_SQD, IBV_QPS_SQD, IBV_QPT_UC, 0,
               connected_access | IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE},
    Transition{IBV_QPS_SQD, IBV_QPS_SQD, IBV_QPT_RC, 0,
               connected_access | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
                   IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE},

    Transition{IBV_QPS_SQE, IBV_QPS_RTS, IBV_QPT_UD, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_SQE, IBV_QPS_RTS, IBV_QPT_UC, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
};

}  // namespace

bool is_allowed_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int attribute_mask) {
  const int attributes = attribute_mask & ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
    return attributes == 0;
  }
  for (const Transition& each : transitions) {
    if (each.type == type && each.from == from && each.to == to) {
      return (attributes & each.required) == each.required &&
             (attributes & ~(each.required | each.optional)) == 0;
    }
  }
  return false;
}

}  // namespace rkv::soft
