// What the wire has seen since the process began; rkv_soft_get_wire_counters() in wire.h tells it.
#pragma once

#include <atomic>
#include <cstdint>

namespace rkv::soft::wire {

struct Counters {
  std::atomic<std::uint64_t> packets_sent{0};
  std::atomic<std::uint64_t> packets_received{0};
  std::atomic<std::uint64_t> refused_by_system{0};
  std::atomic<std::uint64_t> malformed{0};  // no packet of RoCEv2, or too long
  std::atomic<std::uint64_t> damaged{0};    // wrong ICRC
  std::atomic<std::uint64_t> nobody{0};     // no such queue pair, or not for this sender
  std::atomic<std::uint64_t> out_of_sequence{0};
  std::atomic<std::uint64_t> duplicates{0};
  std::atomic<std::uint64_t> retransmissions{0};  // times a requester went back
  std::atomic<std::uint64_t> timeouts{0};
  std::atomic<std::uint64_t> left_to_pollers{0};  // looks at which the wire's thread found others polling
};

Counters& counters();

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace rkv::soft::wire
