#include "core/port/device.hpp"

namespace rkv {

std::string_view name(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::ok:
      return "ok";
    case CompletionStatus::flushed:
      return "flushed";
    case CompletionStatus::peer_unreachable:
      return "peer unreachable (retries exhausted)";
    case CompletionStatus::receiver_not_ready:
      return "receiver not ready (RNR retries exhausted)";
    case CompletionStatus::message_length:
      return "message longer than the posted buffer";
    case CompletionStatus::access:
      return "protection or access error";
    case CompletionStatus::closed:
      return "closed by the peer";
    case CompletionStatus::failed:
      return "failed";
  }
  return "?";
}

}  // namespace rkv
