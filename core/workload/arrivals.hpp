// When a client of an open loop is due to ask for its operations. Each client has an even share of the rate.
// Belongs to one thread.
#pragma once

#include <cstdint>

#include "core/port/time.hpp"
#include "core/scenario/scenario.hpp"
#include "core/workload/rng.hpp"

namespace rkv {

class ArrivalProcess {
 public:
  // client < clients; the scenario's arrivals are constant or poisson.
  ArrivalProcess(const Scenario& scenario, std::uint32_t client, std::uint32_t clients);

  // Time from the open loop's start, the same for all clients, to this client's next arrival. Never goes
  // back.
  [[nodiscard]] Duration next();

 private:
  bool poisson_;
  std::uint32_t client_;
  std::uint32_t clients_;
  double rate_per_ns_;  // of all clients together
  std::uint64_t count_ = 0;
  double elapsed_ns_ = 0;  // poisson
  Rng rng_;
};

}  // namespace rkv
