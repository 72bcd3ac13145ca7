// What the commands that simulate curves have in common on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "calibration/curves/points.hpp"
#include "calibration/simulate/curves.hpp"
#include "core/report/progress.hpp"

namespace rkv::calibration {

struct SimulationOptions {
  std::string scenario_dir = "scenarios";
  std::vector<std::string> overrides;
  std::size_t jobs = 0;  // 0: one a CPU
  bool whole = false;
  bool force = false;
};

void add_simulation_options(CLI::App& command, SimulationOptions& options);

// With a progress line, and an end at Ctrl-C (simulate() throws then). The progress line outlives the result.
[[nodiscard]] SimulationSettings settings(const SimulationOptions& options, ProgressLine& progress,
                                          const std::string& label);

// To stderr.
void print_warnings(const PointFile& file);

}  // namespace rkv::calibration
