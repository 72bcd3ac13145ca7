// Effects once: what the server remembers of each client's requests, for transports that lose messages and
// connections that are made anew.
//
// A client that timed out, or lost its connection, sends the same request again: same slot, same sequence.
// The table keeps, for each of a session's slots, the last sequence that was begun and, when it is done, its
// response code; so a repeated SET or DEL is answered again and not done again, and one that is still being
// done elsewhere is not begun twice. A slot's client never uses a new sequence before it has its answer or
// has given it up, so one entry a slot is enough. Repeated GETs and PINGs are simply done again: nothing of
// their values is kept.
//
// Thread-safe and lock-free: several workers may hold requests of one session (UD, shared completion queues).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/message/messages.hpp"

namespace rkv {

class ReplayTable {
 public:
  enum class Verdict : std::uint8_t {
    fresh,     // do it, then call finish()
    repeated,  // done before: answer again, with `code`
    ignored,   // being done by another worker, or older than what its slot has gone on to
  };
  struct Answer {
    Verdict verdict = Verdict::fresh;
    ResponseCode code = ResponseCode::unknown_error;
  };

  ReplayTable(std::uint32_t sessions, std::uint32_t slots)
      : slots_(slots), entries_(std::size_t{sessions} * slots) {}

  // session and id.slot are in range.
  [[nodiscard]] Answer begin(std::uint32_t session, const RequestId& id);
  void finish(std::uint32_t session, const RequestId& id, ResponseCode code);
  [[nodiscard]] std::uint32_t slots() const { return slots_; }

 private:
  // The sequence in the upper 48 bits, the code in the next 8, then 1 when done. Sequences start at 1, so 0
  // is an entry that was never used.
  using Entry = std::atomic<std::uint64_t>;
  [[nodiscard]] Entry& entry(std::uint32_t session, const RequestId& id) {
    return entries_[std::size_t{session} * slots_ + id.slot];
  }

  std::uint32_t slots_;
  std::vector<Entry> entries_;
};

}  // namespace rkv
