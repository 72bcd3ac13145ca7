// The seam's wait sets on the real machine: polling for spin, epoll or a blocking receive for block.
#pragma once

#include "core/port/wait.hpp"

namespace rkv::verbs {

// Thread-safe. Takes completion queues of a VerbsDevice, streams of a TcpNetwork, flags of a ThreadRuntime.
class VerbsWaitSets final : public WaitSets {
 public:
  // Throws rkv::Error for sources of another backend, and for a set of one stream with Wait::select whose
  // file descriptor select(2) cannot take.
  std::unique_ptr<WaitSet> make_wait_set(const WaitSources& sources, const StopFlag& stop) override;
};

}  // namespace rkv::verbs
