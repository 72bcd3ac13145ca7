#include "backends/verbs/port/real_port.hpp"

namespace rkv::verbs {

RealPort::RealPort(const RealPortOptions& options) {
  if (options.transport == Transport::tcp) {
    streams_.emplace(options.service_host);
  } else {
    device_.emplace(options.device);
  }
}

Port RealPort::port() {
  Port port;
  port.runtime = &runtime_;
  port.wait_sets = &wait_sets_;
  port.device = device_ ? &*device_ : nullptr;
  port.streams = streams_ ? &*streams_ : nullptr;
  return port;
}

}  // namespace rkv::verbs
