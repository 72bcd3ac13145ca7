#include "tests/sim/nic/card_fixture.hpp"

namespace rkv::sim::test {

NicProfile round_nic() {
  NicProfile nic;
  nic.processing_units = 1;
  nic.rc = {.send = 55 * ns,
            .receive = 65 * ns,
            .ack = 30 * ns,
            .take_ack = 30 * ns,
            .header_bytes = 12,
            .ack_bytes = 20};
  nic.uc = {.send = 50 * ns, .receive = 70 * ns, .ack = 0, .header_bytes = 10, .ack_bytes = 0};
  nic.ud = {.send = 60 * ns, .receive = 80 * ns, .ack = 0, .header_bytes = 20, .ack_bytes = 0};
  nic.pcie_latency = 200 * ns;
  nic.pcie_bandwidth_bytes_per_ns = 1;
  nic.doorbell = 40 * ns;
  nic.receive_fetch = 15 * ns;
  nic.receive_fetch_an_sge = 5 * ns;
  nic.rnr_delay = 1'000 * ns;
  nic.retransmit_delay = 5'000 * ns;
  nic.soft_transfer = 300 * ns;
  nic.soft_copy_ns_per_byte = 0.5;
  nic.soft_wake = 900 * ns;
  nic.soft_event = 200 * ns;
  return nic;
}

NetworkProfile round_network() {
  NetworkProfile network;
  network.switch_latency = 0;
  network.mtu_bytes = 1'000'000;
  return network;
}

}  // namespace rkv::sim::test
