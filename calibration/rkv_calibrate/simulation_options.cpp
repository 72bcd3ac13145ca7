#include "calibration/rkv_calibrate/simulation_options.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "backends/sim/run/interrupt.hpp"

namespace rkv::calibration {

void add_simulation_options(CLI::App& command, SimulationOptions& options) {
  command
      .add_option("--scenario-dir", options.scenario_dir,
                  "Folder of the scenarios: TRANSPORT_nonblocking.json (or _busy) for completion busy, "
                  "TRANSPORT_blocking.json (or _event) for event")
      ->capture_default_str();
  command
      .add_option("--set", options.overrides, "PATH=VALUE: override a field of every scenario; repeatable")
      ->allow_extra_args(false);
  command.add_option("--jobs", options.jobs, "Simulations at a time, each in a process (default: one a CPU)");
  command.add_flag("--whole", options.whole,
                   "Simulate whole runs, also where samples of them tell as much: slow");
  command.add_flag("--force", options.force, "Replace output files that exist");
}

SimulationSettings settings(const SimulationOptions& options, ProgressLine& progress,
                            const std::string& label) {
  sim::note_interrupts();
  SimulationSettings settings;
  settings.jobs = options.jobs;
  settings.sampled = !options.whole;
  settings.keep_on = [&progress, label](std::size_t done, std::size_t of) {
    progress.show(fmt::format("{}: {} of {} simulations", label, done, of));
    return !sim::interrupted();
  };
  return settings;
}

void print_warnings(const PointFile& file) {
  for (const std::string& warning : file.warnings)
    fmt::print(stderr, "rkv-calibrate: warning: {}\n", warning);
}

}  // namespace rkv::calibration
