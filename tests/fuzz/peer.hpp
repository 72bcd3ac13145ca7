// The host that the fuzzed queue pairs are connected to: an address of the loopback network, at which a
// socket sees what is sent there, and from which the fuzzer's packets pretend to be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/verbs/soft/wire/icrc.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft {

class Peer {
 public:
  Peer();

  // In the host's byte order.
  std::uint32_t address() const { return address_; }
  // From there to this process.
  wire::Ipv4Path path() const;
  // What was sent since the last call, without payloads. Checks that it is whole packets, and that no
  // response tells what may not be read.
  std::vector<wire::Packet> take_sent();

 private:
  int socket_ = -1;
  std::uint32_t address_ = 0;
  std::array<std::byte, 8'192> buffer_;
};

}  // namespace rkv::soft
