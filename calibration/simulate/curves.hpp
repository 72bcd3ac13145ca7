// Simulates the points of curves: what a profile says about each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/sim/profile/profile.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "calibration/curves/points.hpp"
#include "calibration/simulate/scenario_set.hpp"
#include "core/report/result.hpp"

namespace rkv::calibration {

// One simulation; it gives every metric of its point.
struct Place {
  std::string transport;
  std::string completion;
  std::uint32_t clients = 0;
  std::string scenario = {};

  auto operator<=>(const Place&) const = default;
};

[[nodiscard]] Place place_of(const Point& point);

struct Simulated {
  const sim::Profile* profile = nullptr;  // outlives the call
  Place place;
};

struct SimulationSettings {
  std::size_t jobs = 0;  // simulations at a time, each in a process; 0: one a CPU
  // Windows at several stages of the run instead of all of it (rkv-sim --sample), where they tell
  // (backends/sim/run/windows_tell.hpp).
  bool sampled = true;
  bool sampled_whatever_history = false;  // also where they tell all but what that decides
  std::uint64_t operations_a_window = sim::SampleOptions{}.operations_a_window;
  // Called several times a second; false: end early.
  std::function<bool(std::size_t done, std::size_t of)> keep_on;
};

// Whether simulate() takes windows of this one.
[[nodiscard]] bool is_sampled(const Simulated& one, ScenarioSet& scenarios,
                              const SimulationSettings& settings);

// In the order of the list. Throws InputError, before any is simulated, when a profile can't run a point or a
// point to be sampled can't be, rkv::Error when one fails or it was ended early.
[[nodiscard]] std::vector<PointResult> simulate(const std::vector<Simulated>& list, ScenarioSet& scenarios,
                                                const SimulationSettings& settings);

// Throws InputError (file:line) for a metric that a point's scenario does not have.
void check_metrics(const PointFile& file, ScenarioSet& scenarios);

// The value of one of metrics() (calibration/curves/points.hpp). Nothing when the point has none.
[[nodiscard]] std::optional<double> metric_of(const PointResult& point, const std::string& metric);

}  // namespace rkv::calibration
