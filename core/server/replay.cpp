#include "core/server/replay.hpp"

namespace rkv {
namespace {

constexpr std::uint64_t done_bit = 1;

constexpr std::uint64_t pack(std::uint64_t sequence, ResponseCode code, std::uint64_t done) {
  return sequence << 16 | static_cast<std::uint64_t>(code) << 8 | done;
}

}  // namespace

ReplayTable::Answer ReplayTable::begin(std::uint32_t session, const RequestId& id) {
  Entry& slot = entry(session, id);
  std::uint64_t seen = slot.load(std::memory_order_acquire);
  while (id.sequence > seen >> 16) {
    if (slot.compare_exchange_weak(seen, pack(id.sequence, ResponseCode::ok, 0), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      return {.verdict = Verdict::fresh};
    }
  }
  if (id.sequence == seen >> 16 && (seen & done_bit) != 0) {
    return {.verdict = Verdict::repeated, .code = static_cast<ResponseCode>(seen >> 8 & 0xff)};
  }
  return {.verdict = Verdict::ignored};
}

void ReplayTable::finish(std::uint32_t session, const RequestId& id, ResponseCode code) {
  Entry& slot = entry(session, id);
  std::uint64_t begun = pack(id.sequence, ResponseCode::ok, 0);
  // When the client gave up and went on meanwhile, there is nobody left to answer again.
  slot.compare_exchange_strong(begun, pack(id.sequence, code, done_bit), std::memory_order_acq_rel);
}

}  // namespace rkv
