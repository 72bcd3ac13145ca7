#include "backends/verbs/port/completion_status.hpp"

namespace rkv::verbs {

CompletionStatus completion_status(ibv_wc_status status, bool one_sided) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return CompletionStatus::ok;
    case IBV_WC_WR_FLUSH_ERR:
      return CompletionStatus::flushed;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return CompletionStatus::peer_unreachable;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return CompletionStatus::receiver_not_ready;
    case IBV_WC_LOC_LEN_ERR:
      return CompletionStatus::message_length;
    // To the sender of a message that is too long, and to who names memory to a queue pair that does not
    // allow it. (Some devices tell the latter by an access error.)
    case IBV_WC_REM_INV_REQ_ERR:
      return one_sided ? CompletionStatus::access : CompletionStatus::message_length;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_MW_BIND_ERR:
      return CompletionStatus::access;
    default:
      return CompletionStatus::failed;
  }
}

}  // namespace rkv::verbs
