// What the fuzzed process has from its start to its end: the device, memory, and a peer elsewhere.
#pragma once

#include <infiniband/verbs.h>

#include "tests/fuzz/memory.hpp"
#include "tests/fuzz/peer.hpp"

namespace rkv::soft {

struct Process {
  Process();

  // The way to the peer.
  ibv_ah_attr address() const;

  ibv_context* context;
  ibv_pd* pd;
  ibv_pd* other_pd;
  ibv_comp_channel* channel;  // does not block
  Memory memory;
  Peer peer;
  ibv_ah* peer_handle;
};

}  // namespace rkv::soft
