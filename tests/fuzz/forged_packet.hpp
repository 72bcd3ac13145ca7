// Packets of a peer that means no good: by default just what the queue pair waits for, with any part of it
// wrong where the input asks for that.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/icrc.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/memory.hpp"

namespace rkv::soft {

struct Forged {
  wire::Ipv4Path path;
  std::vector<std::byte> datagram;
};

// To the queue pair, by the path from its peer. The datagram is sealed.
Forged forge_packet(Input& input, QueuePair& qp, Memory& memory, const wire::Ipv4Path& path);
// Any bytes, sealed or not.
Forged forge_bytes(Input& input, const wire::Ipv4Path& path);

}  // namespace rkv::soft
