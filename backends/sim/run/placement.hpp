// Where a simulation's threads are, and what the operating systems go by that move them: handed from one
// window of a run to the next, so that threads go on from where they had come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/sim/engine/simulation.hpp"

namespace rkv::sim {

struct Placement {
  struct OfThread {
    std::size_t cpu = 0;  // of its host
    Ps for_so_long = 0;   // it has been there
  };
  std::vector<OfThread> threads;  // in the order of their making, but for the one that sets the point up
  std::vector<std::vector<double>> interrupted_parts;  // a host's CPUs each: of their time, lately
  std::vector<double> walked;  // entries, in each of the server's sockets: tells where entries lie
};

// Of all threads. Those that have ended are where `before` has them, or where they ended if it has nobody.
[[nodiscard]] Placement placement_of(Simulation& simulation, const Placement& before);
// Takes the threads there that have been made so far and have not ended. Does nothing if `placement` is
// empty.
void put_into(Simulation& simulation, const Placement& placement);

}  // namespace rkv::sim
