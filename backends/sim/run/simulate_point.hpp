// One point of a study in simulation: server and clients of core/run on simulated hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/sim/engine/simulation.hpp"
#include "core/measure/trace.hpp"
#include "core/report/result.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

struct PointOptions {
  SimulationOptions simulation;
  // Called now and then with the simulated time and the operations done; false: end the point early.
  std::function<bool(Ps now, std::uint64_t operations)> keep_on;
};

struct SimulatedPoint {
  PointResult result;
  std::vector<TraceBuffer> traces;  // a client each, where the scenario asks for them
};

// Runs `clients` clients of the scenario to their end. Throws InputError when the profile's device can't do
// what the scenario asks for, rkv::Error for what else goes wrong.
[[nodiscard]] SimulatedPoint simulate_point(const Profile& profile, const Scenario& scenario,
                                            std::uint32_t clients, const PointOptions& options);

// Throws InputError when these two don't fit: what the simulated device can't do, cores that a host has not.
void check_against_profile(const Scenario& scenario, const Profile& profile, const std::string& source);

}  // namespace rkv::sim
