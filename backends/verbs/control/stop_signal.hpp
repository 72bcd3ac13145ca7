// A request to stop, as something to wait for beside sockets: a descriptor that becomes readable, for good.
// Thread-safe.
#pragma once

#include <atomic>

#include "backends/verbs/control/connection.hpp"

namespace rkv::control {

class StopSignal {
 public:
  StopSignal();           // throws rkv::Error
  void raise() noexcept;  // async-signal-safe
  [[nodiscard]] bool raised() const { return raised_.load(); }
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
  std::atomic<bool> raised_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
};

// The one that Ctrl-C and SIGTERM raise; installs their handlers. A second signal kills as it always did.
const StopSignal& interrupt_signal();

}  // namespace rkv::control
