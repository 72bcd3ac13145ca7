// The suite on the real machine: the RDMA device that RKV_TEST_DEVICE names, else any, else soft0, talking to
// itself; TCP by way of loopback.
#include <cstdlib>

#include "backends/verbs/port/real_port.hpp"
#include "tests/port/port_fixture.hpp"

namespace rkv::test {

void with_ports(Transport transport, const std::function<void(const PortPair&)>& body) {
  DeviceOptions device;
  if (const char* name = std::getenv("RKV_TEST_DEVICE"); name != nullptr) device.name = name;
  const verbs::RealPortOptions options{.transport = transport, .device = device, .service_host = "127.0.0.1"};
  verbs::RealPort server(options);
  verbs::RealPort client(options);
  body({server.port(), client.port()});
}

}  // namespace rkv::test
