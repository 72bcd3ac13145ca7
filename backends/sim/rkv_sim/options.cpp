#include "backends/sim/rkv_sim/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "backends/sim/profile/without.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "core/report/version.hpp"

namespace rkv::sim {
namespace {

constexpr const char* description =
    "rkv-sim runs a key-value service scenario on simulated machines and writes the same report as rkv-real. "
    "Server\n"
    "and clients are the same code; the hosts, CPUs, RDMA cards and links are models, described by a "
    "profile.";

constexpr const char* examples = R"(
Examples:
  rkv-sim --scenario scenarios/uc_nonblocking.json --profile calibration/profiles/das5.json --clients 1,16,64
  rkv-sim --scenario scenarios/rc_blocking.json --profile calibration/profiles/modern_100g.json --clients 1000 \
    --set load.total_operations=1000000 --without qp_cache --set-profile server.cpu.cores_per_socket=64

Every field of a scenario: docs/scenario.md. Of a profile: docs/profile.md. What a report holds: docs/report.md.
The same scenario, profile and seed give the same report, byte for byte.
Exit status: 0 done; 1 failed or a response was wrong; 2 bad input, nothing was started; 130 interrupted,
what ran is in the report.)";

std::string mechanisms_text() {
  std::string text = "MECHANISM: leave it out, so that it costs nothing; repeatable. One of: ";
  const char* separator = "";
  for (const Mechanism& mechanism : mechanisms()) {
    text += fmt::format("{}{} ({})", separator, mechanism.name, mechanism.description);
    separator = ", ";
  }
  return text;
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  Options options;
  bool sampled = false;
  std::uint64_t sample_operations = SampleOptions{}.operations_a_window;
  CLI::App app{description, "rkv-sim"};
  app.footer(examples);
  app.set_version_flag("--version", std::string(program_version()));
  app.add_option("--scenario", options.scenario, "Scenario file");
  app.add_option("--profile", options.profile,
                 "Profile of the simulated machines (see calibration/profiles/)");
  app.add_option("--clients", options.clients, "Client counts, one point each: 1,2,4")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--set", options.overrides, "PATH=VALUE: override a field of the scenario; repeatable")
      ->allow_extra_args(false);
  app.add_option("--set-profile", options.profile_overrides,
                 "PATH=VALUE: override a field of the profile; repeatable")
      ->allow_extra_args(false);
  app.add_option("--without", options.without, mechanisms_text())->allow_extra_args(false);
  app.add_option("--out", options.out,
                 "Directory for the report, new or empty (default: a fresh one in results/)");
  app.add_flag("--trace", options.timeline,
               "Write a timeline of threads on CPUs and of the cards' work, for Perfetto (ui.perfetto.dev)");
  app.add_option("--jobs", options.jobs, "Points simulated at a time, each in a process (default: one a CPU)")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--single-steps", options.single_steps,
               "Hand every event to SimGrid by itself: slow, and gives the same report");
  app.add_flag("--sample", sampled,
               "Simulate short windows at several stages of each point and integrate over the run: seconds "
               "instead of minutes, for the thesis's workload only. Points of which windows tell too little "
               "are simulated whole: with more threads than CPUs (that poll: than cores), or where "
               "interrupts hold one of few clients back");
  app.add_option("--sample-operations", sample_operations,
                 fmt::format("With --sample: operations a window, more for less chance; a short run's have "
                             "fewer (default: {})",
                             SampleOptions{}.operations_a_window))
      ->check(CLI::Range(100, 100'000'000));
  app.add_option("--cfg", options.simgrid, "KEY:VALUE: an option of SimGrid's own; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--quiet", options.quiet, "No progress and no table, only errors");
  try {
    app.parse(argc, argv);
    const auto refuse = [](const std::string& why) { throw CLI::ValidationError(why, 2); };
    if (options.scenario.empty()) refuse("--scenario FILE is missing (see scenarios/)");
    if (!sampled && app.count("--sample-operations") > 0) refuse("--sample-operations is for --sample");
    if (sampled && options.timeline) refuse("--trace needs the whole run, which --sample does not simulate");
    if (options.profile.empty()) refuse("--profile FILE is missing (see calibration/profiles/)");
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return {.options = std::nullopt, .exit_code = code == 0 ? 0 : 2};
  }
  if (sampled) options.sample_operations = sample_operations;
  options.command_line.assign(argv, argv + argc);
  return {.options = std::move(options), .exit_code = 0};
}

}  // namespace rkv::sim
