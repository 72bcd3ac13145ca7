#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/wire.h"
#include "backends/verbs/soft/wire/counters.hpp"

RKV_SOFT_EXPORT void rkv_soft_get_wire_counters(rkv_soft_wire_counters* out) {
  const rkv::soft::wire::Counters& now = rkv::soft::wire::counters();
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  *out = {.packets_sent = read(now.packets_sent),
          .packets_received = read(now.packets_received),
          .refused_by_system = read(now.refused_by_system),
          .malformed = read(now.malformed),
          .damaged = read(now.damaged),
          .nobody = read(now.nobody),
          .out_of_sequence = read(now.out_of_sequence),
          .duplicates = read(now.duplicates),
          .retransmissions = read(now.retransmissions),
          .timeouts = read(now.timeouts),
          .left_to_pollers = read(now.left_to_pollers)};
}
