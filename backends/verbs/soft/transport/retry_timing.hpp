// The times that the codes in a queue pair's attributes stand for.
#pragma once

#include <array>
#include <cstdint>

namespace rkv::soft {

inline constexpr std::uint8_t rnr_retry_forever = 7;
// How often a sender without a retransmission timer looks whether its peer answers.
inline constexpr std::uint64_t untimed_retry_ns = 10'000'000;

// The wait that a "receiver not ready" answer asks for (IBA vol. 1, table 46).
inline std::uint64_t rnr_timer_ns(std::uint8_t code) {
  constexpr std::array<std::uint32_t, 32> hundredths_of_ms{
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::uint64_t{hundredths_of_ms[code & 31U]} * 10'000;
}

// The wait for an acknowledgement: 4.096 us * 2^code (IBA vol. 1, 9.7.6.1.3).
inline std::uint64_t retransmission_timeout_ns(std::uint8_t code) {
  return std::uint64_t{4'096} << code;
}

}  // namespace rkv::soft
