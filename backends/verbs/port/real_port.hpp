// One host's side of the seam on the real machine: all parts in one place, in the right order of lifetimes.
#pragma once

#include <optional>
#include <string>

#include "backends/verbs/port/tcp_network.hpp"
#include "backends/verbs/port/thread_runtime.hpp"
#include "backends/verbs/port/verbs_device.hpp"
#include "backends/verbs/port/wait_set.hpp"
#include "core/port/wait.hpp"

namespace rkv::verbs {

struct RealPortOptions {
  Transport transport = Transport::uc;     // tcp: streams and no device; else a device and no streams
  DeviceOptions device;                    // which one; not looked at for TCP
  std::string service_host = "127.0.0.1";  // numeric address that streams are served on; TCP only
};

// Must outlive everything made through port(). Thread-safe.
class RealPort {
 public:
  // Opens the device. Throws rkv::Error.
  explicit RealPort(const RealPortOptions& options);
  RealPort(const RealPort&) = delete;
  RealPort& operator=(const RealPort&) = delete;

  [[nodiscard]] Port port();
  // For reports; null for TCP.
  [[nodiscard]] const VerbsDevice* device() const { return device_ ? &*device_ : nullptr; }

 private:
  ThreadRuntime runtime_;
  VerbsWaitSets wait_sets_;
  std::optional<VerbsDevice> device_;
  std::optional<TcpNetwork> streams_;
};

}  // namespace rkv::verbs
