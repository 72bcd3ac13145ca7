#include "backends/sim/rkv_sim/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "backends/sim/profile/load.hpp"
#include "backends/sim/profile/without.hpp"
#include "backends/sim/run/interrupt.hpp"
#include "backends/sim/run/point_pool.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "backends/sim/run/simgrid_options.hpp"
#include "backends/sim/run/windows_tell.hpp"
#include "core/error.hpp"
#include "core/report/point_table.hpp"
#include "core/report/progress.hpp"
#include "core/report/run_directory.hpp"
#include "core/scenario/load.hpp"

namespace rkv::sim {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_interrupted = 130;

struct Outcome {
  bool partial = false;
  std::uint64_t violated = 0;
};

bool is_sampled(const Options& options, const Profile& profile, const Scenario& scenario,
                std::uint32_t clients) {
  return options.sample_operations > 0 && windows_tell(scenario, profile, clients) &&
         !history_decides(scenario, profile, clients);
}

std::vector<PointJob> jobs_of(const Options& options, const Profile& profile, const Scenario& scenario,
                              const RunDirectory& directory) {
  std::vector<PointJob> jobs;
  for (const std::uint32_t clients : scenario.clients) {
    jobs.push_back(
        {.profile = &profile,
         .scenario = &scenario,
         .clients = clients,
         .single_steps = options.single_steps,
         .sample_operations = is_sampled(options, profile, scenario, clients) ? options.sample_operations : 0,
         .timeline_file =
             options.timeline ? (directory.path() / fmt::format("timeline_{}.json", clients)).string() : "",
         .trace_file =
             scenario.trace ? directory.trace_file(clients, file_ending(TraceFormat::csv)).string() : "",
         .simgrid = options.simgrid});
  }
  return jobs;
}

void tell_what_is_whole(const Options& options, const Profile& profile, const Scenario& scenario) {
  if (options.sample_operations == 0) return;
  std::vector<std::uint32_t> whole;
  std::copy_if(scenario.clients.begin(), scenario.clients.end(), std::back_inserter(whole),
               [&](std::uint32_t clients) { return !is_sampled(options, profile, scenario, clients); });
  if (whole.empty()) return;
  fmt::print("simulated whole, since windows tell too little of them: {} clients\n", fmt::join(whole, ", "));
}

void show_progress(const Options& options, const Profile& profile, const Scenario& scenario,
                   const PointPool::State& state, ProgressLine& progress) {
  if (options.quiet || !progress.on_terminal() || state.done == state.of) return;
  std::string line =
      fmt::format("{}: {} of {} points; {} clients: {:.2f} M ops", scenario.name, state.done, state.of,
                  scenario.clients[state.first], static_cast<double>(state.of_first.operations) * 1e-6);
  if (scenario.load.total_operations > 0 &&
      !is_sampled(options, profile, scenario, scenario.clients[state.first])) {
    line += fmt::format(" of {:.2f} M", static_cast<double>(scenario.load.total_operations) * 1e-6);
  }
  progress.show(line + fmt::format(", {:.2f} s simulated", state.of_first.simulated_s));
}

Outcome run_one(const Options& options, const Profile& profile, const Scenario& scenario,
                RunDirectory& directory) {
  const RunInfo run = this_run(options.command_line);
  Report report;
  report.backend = Report::Backend::sim;
  report.program_version = run.program_version;
  report.scenario = to_json(scenario);
  report.seed = scenario.seed;
  report.device = nullptr;
  report.profile = to_json(profile);
  directory.write(report);
  directory.write_run_info(run);
  if (!options.quiet) {
    fmt::print("{} on {} (simulated)\n", scenario.name, profile.name);
    tell_what_is_whole(options, profile, scenario);
    print_point_header();
  }
  Outcome outcome;
  ProgressLine progress;
  PointPool points(jobs_of(options, profile, scenario, directory), options.jobs,
                   [&](const PointPool::State& state) {
                     show_progress(options, profile, scenario, state, progress);
                     return !interrupted();
                   });
  while (points.more()) {
    PointResult point = points.next();
    progress.clear();
    if (!options.quiet) print_point(point);
    print_complaints("rkv-sim", point);
    outcome.violated += point.check_violations.count;
    outcome.partial = outcome.partial || point.partial();
    report.points.push_back(std::move(point));
    directory.write(report);
    directory.write_run_info(run);
  }
  return outcome;
}

}  // namespace

int run_sweep(const Options& options) {
  Profile profile = load_profile(options.profile, options.profile_overrides);
  for (const std::string& mechanism : options.without) switch_off(profile, mechanism);
  const std::vector<Scenario> scenarios = expand(options.scenario, options.overrides, options.clients);
  // All that can be refused is refused before anything starts or is written.
  check_simgrid_options(options.simgrid);
  for (const Scenario& scenario : scenarios) {
    check_against_profile(scenario, profile, options.scenario);
    if (options.sample_operations > 0) check_can_be_sampled(scenario, profile, options.scenario);
  }
  if (!options.out.empty()) {
    // Taken and given back: a sweep must not find its third place occupied after two were simulated.
    for (const Scenario& scenario : scenarios) {
      RunDirectory::at(directory_of(options.out, scenario.name, scenarios.size()));
    }
  }
  note_interrupts();
  Outcome all;
  for (const Scenario& scenario : scenarios) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    RunDirectory directory =
        options.out.empty() ? RunDirectory::fresh("results", scenario.name + "-sim", now)
                            : RunDirectory::at(directory_of(options.out, scenario.name, scenarios.size()));
    const Outcome one = run_one(options, profile, scenario, directory);
    if (!options.quiet) fmt::print("report: {}\n", (directory.path() / "report.json").string());
    all.partial = all.partial || one.partial;
    all.violated += one.violated;
    if (interrupted()) return exit_interrupted;
  }
  return all.partial || all.violated > 0 ? exit_failed : 0;
}

}  // namespace rkv::sim
