// To connect a queue pair, or to make an address handle, the kernel asks the network for the peer's
// link-layer address, as for any IP packet (ARP). It gives up after a second with ETIMEDOUT. Its question or
// the answer may have been lost, as any packet, so a few more seconds are given.
#pragma once

#include <cerrno>

namespace rkv::verbs {

constexpr int resolution_attempts = 5;

// attempt: int(), an errno or 0. The last one's.
template <typename Attempt>
[[nodiscard]] int with_resolution(const Attempt& attempt) {
  int reason = ETIMEDOUT;
  for (int i = 0; i < resolution_attempts && reason == ETIMEDOUT; ++i) reason = attempt();
  return reason;
}

}  // namespace rkv::verbs
