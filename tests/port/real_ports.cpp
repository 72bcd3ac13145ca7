// The suite on the real machine: the RDMA device that RKV_TEST_DEVICE names, else any, else soft0, talking to
// itself or to the one that RKV_TEST_PEER_DEVICE names; TCP by way of loopback.
#include <cstdlib>

#include "backends/verbs/port/real_port.hpp"
#include "tests/port/port_fixture.hpp"

namespace rkv::test {

void with_ports(Transport transport, const std::function<void(const PortPair&)>& body) {
  verbs::RealPortOptions options{.transport = transport, .device = {}, .service_host = "127.0.0.1"};
  if (const char* name = std::getenv("RKV_TEST_DEVICE"); name != nullptr) options.device.name = name;
  verbs::RealPort server(options);
  if (const char* name = std::getenv("RKV_TEST_PEER_DEVICE"); name != nullptr) options.device.name = name;
  verbs::RealPort client(options);
  body({server.port(), client.port()});
}

bool overlaps_are_certain() {
  return false;
}

}  // namespace rkv::test
