// Every host's side of the seam in one simulation.
//
// Made before the simulation runs and destroyed after it: what is under way between hosts may outlast the
// queue pairs and streams that it is of, but not this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/engine/simulation.hpp"
#include "backends/sim/net/tcp.hpp"
#include "backends/sim/port/sim_device.hpp"
#include "backends/sim/port/sim_runtime.hpp"
#include "backends/sim/port/sim_stream_network.hpp"
#include "backends/sim/port/sim_wait_set.hpp"
#include "core/port/wait.hpp"

namespace rkv::sim {

class SimPorts {
 public:
  SimPorts(Simulation& simulation, Transport transport);
  SimPorts(const SimPorts&) = delete;
  SimPorts& operator=(const SimPorts&) = delete;

  // Of this host: TCP has streams, the others a device.
  [[nodiscard]] Port port(std::uint32_t host);
  // What the network did to messages, by the fault's name as in a report; what did not occur is left out.
  [[nodiscard]] std::map<std::string, std::uint64_t> injected_faults() const;

 private:
  struct Side {
    std::unique_ptr<SimRuntime> runtime;
    std::unique_ptr<Card> card;
    std::unique_ptr<SimDevice> device;
    std::unique_ptr<SimStreamNetwork> streams;
  };

  SimWaitSets wait_sets_;
  Fabric fabric_;
  std::unique_ptr<Tcp> tcp_;
  std::vector<Side> sides_;
};

}  // namespace rkv::sim
