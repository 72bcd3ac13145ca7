// A datagram from the network: checks it, finds its queue pair, and hands it on. Whatever is wrong with it,
// it is dropped and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"

namespace rkv::soft::wire {

struct Receipt {
  std::uint32_t owes = 0;  // the number of a queue pair that owes an acknowledgement from now on, or 0
  bool one_sided = false;  // a request that makes no completion here
  std::uint16_t identification = 0;  // of its IPv4 header, if it is whole
};

// With the wire's lock held.
[[nodiscard]] Receipt receive_datagram_from(const Ipv4Path& path, std::span<const std::byte> datagram,
                                            Aftermath& aftermath);

}  // namespace rkv::soft::wire
