// Which faults befall the messages of one queue pair.
//
// Not thread-safe: used under the queue pair's send lock. While no faults are set it costs one read of a
// shared flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/verbs/soft/transport/work_request.hpp"

namespace rkv::soft {

// A message that is held back so that the next one overtakes it: its data are copied.
struct HeldMessage {
  SendWqe wqe;
  std::vector<std::byte> data;
  ibv_sge sge;
  std::uint64_t release_ns;
};

enum class MessageFault : std::uint8_t { none, drop, duplicate, reorder };

class FaultStream {
 public:
  static bool active() { return active_.load(std::memory_order_relaxed); }

  // Of a UC or UD message, or of a packet on the wire. Who can't hold one back draws no `reorder`.
  MessageFault draw_message_fault(std::uint32_t stream_number, bool may_hold);
  // Of an RC message that needs a receive.
  bool draw_rnr(std::uint32_t qp_number);
  // When a message posted now may be carried out; 0: at once.
  static std::uint64_t not_before_ns();

  // The message that waits to be overtaken, if any.
  std::unique_ptr<HeldMessage> held;

 private:
  friend struct FaultSettings;
  double draw(std::uint32_t qp_number);

  static std::atomic<bool> active_;
  std::uint32_t version_ = 0;
  std::uint64_t state_ = 0;
};

// What is injected into one-sided data (torn_copy.hpp).
struct TornCopies {
  static std::uint64_t word_pause_ns();
  static bool shuffle_writes();
  static bool shuffle_reads();
};

// Reads the RKV_SOFT_* variables, once a process. False, after a line on stderr, if one can't be understood.
bool set_faults_from_environment();

}  // namespace rkv::soft
