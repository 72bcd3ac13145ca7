// A point of the thesis's workload without simulating all of it: short windows at several stages of the run,
// integrated over it.
//
// The run is taken for a fluid: client c begins c * start_stagger after the first one, does its share of all
// operations at the pace of the clients that are active and of the store's growth (cycle_times.hpp), and
// ends. So the ramp, the growing store and the stragglers count as they do in a whole run. The pace decides
// where the run goes, and there windows are simulated, so it is integrated until no new ones are needed.
#pragma once

#include "backends/sim/run/simulate_point.hpp"

namespace rkv::sim {

constexpr double ns_in_s = 1e9;

struct SampleOptions {
  SimulationOptions simulation;
  // Measured; a busy machine's time slices may ask for more, a short run for fewer. README.md has how far so
  // many are from whole runs of ten million.
  std::uint64_t operations_a_window = 120'000;
  // Called after each window with the time and the operations simulated so far; false: end the point early.
  std::function<bool(Ps simulated, std::uint64_t operations)> keep_on;
};

// As simulate_point(), whose result this one estimates; result.sampling says what it rests on. Of a client's
// own figures, the 99th percentile is that of all clients. Throws InputError for what check_can_be_sampled()
// refuses.
[[nodiscard]] PointResult sample_point(const Profile& profile, const Scenario& scenario,
                                       std::uint32_t clients, const SampleOptions& options);

// Throws InputError, with the scenario's JSON pointers, when the scenario is not one whose stages can be set
// up: another workload or store than the thesis's, an open loop, an end by time and not by operations.
void check_can_be_sampled(const Scenario& scenario, const Profile& profile, const std::string& source);

}  // namespace rkv::sim
