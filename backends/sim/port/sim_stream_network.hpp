// The seam's streams on simulated TCP.
#pragma once

#include "backends/sim/net/tcp.hpp"
#include "core/port/stream.hpp"

namespace rkv::sim {

// Of one host: it listens there and dials from there, whichever thread calls. Addresses are the simulated
// host's name and a port. Opening a connection takes a round trip of segments and both ends' soft interrupts;
// dial() and accept() cost a system call each. Errors are rkv::Error and name the address.
class SimStreamNetwork final : public StreamNetwork {
 public:
  SimStreamNetwork(Tcp& tcp, Host& host) : tcp_(tcp), host_(host) {}

  std::unique_ptr<StreamListener> listen(std::uint32_t backlog) override;
  std::unique_ptr<Stream> dial(const StreamAddress& address, const StreamSpec& spec,
                               Instant deadline) override;

 private:
  Tcp& tcp_;
  Host& host_;
};

}  // namespace rkv::sim
