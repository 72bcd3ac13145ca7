#include "calibration/measure/command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/sim/profile/load.hpp"
#include "backends/verbs/control/stop_signal.hpp"
#include "backends/verbs/port/device_choice.hpp"
#include "backends/verbs/port/real_port.hpp"
#include "calibration/measure/conclude.hpp"
#include "calibration/measure/describe.hpp"
#include "calibration/measure/outputs.hpp"
#include "calibration/measure/probes.hpp"
#include "calibration/measure/two_cpus.hpp"
#include "calibration/rkv_calibrate/command.hpp"
#include "core/error.hpp"
#include "core/report/progress.hpp"

namespace rkv {
// calibration/profiles/local_soft0.json, compiled in.
std::string_view local_soft0_profile_text();
}  // namespace rkv

namespace rkv::calibration {
namespace {

constexpr int exit_interrupted = 130;
constexpr unsigned quick_rounds = 2;

struct Base {
  sim::Profile profile;
  std::string name;
};

Base base_of(const MeasureOptions& options) {
  if (!options.base.empty()) return {sim::load_profile(options.base), options.base.string()};
  if (options.device != verbs::soft_device_name) {
    throw InputError(fmt::format(
        "--device {}: name with --base the profile that describes the card and the network, which measuring "
        "one host leaves as they are (calibration/profiles/ has some); without it there is one for {} only",
        options.device, verbs::soft_device_name));
  }
  constexpr const char* name = "local_soft0.json";
  return {sim::parse_profile(local_soft0_profile_text(), name), name};
}

void check_device(const verbs::VerbsDevice& device, const Base& base) {
  const bool soft_profile = base.profile.nic.kind == sim::NicProfile::Kind::soft;
  if (device.soft() == soft_profile) return;
  throw InputError(fmt::format("{}: nic.kind is \"{}\", which the device {} is not; name another with --base",
                               base.name, soft_profile ? "soft" : "rnic", device.device_name()));
}

Selection measure_all(const Bench& bench, verbs::RealPort& port, Samples& samples) {
  ProgressLine progress;
  const auto tell = [&](double part, std::string_view probe) {
    if (progress.on_terminal()) progress.show(fmt::format("measuring: {:.0f} %, {}", part * 100, probe));
  };
  tell(0, "preparing stores and memory");
  const auto probes = make_probes(bench, port, samples);
  std::function<double()> state_ns;
  if (const std::optional<int> other = bench.machine.cpus.second) {
    state_ns = [other] { return line_hand_over_ns(*other); };
  }
  return run_probes(probes, bench, state_ns, samples, tell);
}

}  // namespace

int measure(const MeasureOptions& options) {
  const Outputs outputs(options.out, options.force);
  const Base base = base_of(options);
  Circumstances circumstances{.run = this_run(options.command_line),
                              .machine = machine_facts(),
                              .device = {},
                              .base = base.name,
                              .selection = {},
                              .quick = options.quick};
  DeviceOptions device;
  device.name = options.device;
  verbs::RealPort port({.transport = Transport::rc, .device = device});
  check_device(*port.device(), base);
  circumstances.device = port.device()->describe();

  const control::StopSignal& interrupt = control::interrupt_signal();
  Bench bench{.machine = circumstances.machine, .effort = {.quick = options.quick}, .stop = [&interrupt] {
                return interrupt.raised();
              }};
  if (options.quick) bench.effort.rounds = quick_rounds;
  Samples samples;
  try {
    // On a thread of its own, as all code that is measured is: it stays on one CPU, and the C library takes
    // its locks as in a program of several threads.
    port.port()
        .runtime
        ->spawn({.name = "measure", .cores = {bench.machine.cpus.first}},
                [&] { circumstances.selection = measure_all(bench, port, samples); })
        ->join();
  } catch (const Interrupted&) {
    fmt::print(stderr, "rkv-calibrate: interrupted, nothing was written\n");
    return exit_interrupted;
  }

  const Findings findings = conclude(samples, circumstances.machine, port.device()->soft(), base.profile);
  const std::string profile = profile_text(findings, circumstances);
  static_cast<void>(sim::parse_profile(profile, outputs.profile().string()));  // refuses what makes no sense
  outputs.write(profile, measurements_text(findings, circumstances));
  fmt::print("{}\n{}\n{}\n", table_of(findings, circumstances), outputs.profile().string(),
             outputs.measurements().string());
  return 0;
}

void add_measure(CLI::App& app, Run* run) {
  const auto options = std::make_shared<MeasureOptions>();
  CLI::App* const command = app.add_subcommand(
      "measure", "Measures what this machine's calls and memory cost and makes a profile of it");
  command->footer(
      "Takes almost two minutes, alone on the machine. Every figure is the mean of interleaved\n"
      "repetitions, of which each tenth at the ends counts as the value next to it, shown with their\n"
      "interquartile range; beside PROFILE.json all are written to PROFILE.measurements.json. What one\n"
      "machine cannot tell stays as in the base profile, and is listed.\n\nExample:\n"
      "  rkv-calibrate measure --out mine.json\n"
      "  rkv-sim --scenario scenarios/rc_nonblocking.json --profile mine.json --clients 1");
  command->add_option("--out", options->out, "PROFILE.json to write")->required();
  command->add_option("--device", options->device, "RDMA device whose calls are measured")
      ->capture_default_str();
  command->add_option("--base", options->base,
                      "Profile that what is not measured is taken from (default, for soft0: that of "
                      "calibration/profiles/local_soft0.json)");
  command->add_flag("--quick", options->quick, "A smoke test of a few seconds: too short to be trusted");
  command->add_flag("--force", options->force, "Replace files that exist");
  command->callback([options, run] {
    *run = [options](const std::vector<std::string>& command_line) {
      options->command_line = command_line;
      return measure(*options);
    };
  });
}

}  // namespace rkv::calibration
