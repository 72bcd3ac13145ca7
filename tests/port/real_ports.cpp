// The suite on the real machine: any RDMA device, or soft0, talking to itself; TCP by way of loopback.
#include "backends/verbs/port/real_port.hpp"
#include "tests/port/port_fixture.hpp"

namespace rkv::test {

void with_ports(Transport transport, const std::function<void(const PortPair&)>& body) {
  const verbs::RealPortOptions options{.transport = transport, .device = {}, .service_host = "127.0.0.1"};
  verbs::RealPort server(options);
  verbs::RealPort client(options);
  body({server.port(), client.port()});
}

}  // namespace rkv::test
