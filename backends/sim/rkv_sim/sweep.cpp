#include "backends/sim/rkv_sim/sweep.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <optional>

#include "backends/sim/profile/load.hpp"
#include "backends/sim/profile/without.hpp"
#include "backends/sim/run/point_process.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "backends/sim/run/simgrid_options.hpp"
#include "core/error.hpp"
#include "core/report/point_table.hpp"
#include "core/report/progress.hpp"
#include "core/report/run_directory.hpp"
#include "core/scenario/load.hpp"

namespace rkv::sim {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_interrupted = 130;
constexpr int poll_interval_ms = 200;

volatile std::sig_atomic_t interrupted = 0;

// A second signal kills as it always did.
void interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

struct Outcome {
  bool partial = false;
  std::uint64_t violated = 0;
};

// The points of one scenario, some at a time.
class Points {
 public:
  Points(const Options& options, const Profile& profile, const Scenario& scenario,
         const RunDirectory& directory)
      : options_(options), profile_(profile), scenario_(scenario), directory_(directory) {
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    jobs_ = options.jobs != 0 ? options.jobs : static_cast<std::uint32_t>(std::max(cpus, 1L));
  }

  // The next point in the scenario's order, when it is done; the others go on meanwhile.
  PointResult next() {
    for (;;) {
      while (started_ < scenario_.clients.size() && running_.size() < jobs_ && !stopping_) start();
      if (running_.front().result()) {
        PointResult result = *running_.front().result();
        running_.pop_front();
        progress_.clear();
        return result;
      }
      wait();
    }
  }
  [[nodiscard]] bool more() const {
    return !running_.empty() || (started_ < scenario_.clients.size() && !stopping_);
  }

 private:
  void start() {
    const std::uint32_t clients = scenario_.clients[started_++];
    running_.emplace_back(PointJob{
        .profile = &profile_,
        .scenario = &scenario_,
        .clients = clients,
        .single_steps = options_.single_steps,
        .sample_operations = options_.sample_operations,
        .timeline_file =
            options_.timeline ? (directory_.path() / fmt::format("timeline_{}.json", clients)).string() : "",
        .trace_file =
            scenario_.trace ? directory_.trace_file(clients, file_ending(TraceFormat::csv)).string() : "",
        .simgrid = options_.simgrid});
  }

  void wait() {
    std::vector<pollfd> ends;
    std::vector<PointProcess*> readers;
    for (PointProcess& process : running_) {
      if (process.result()) continue;
      ends.push_back({.fd = process.fd(), .events = POLLIN, .revents = 0});
      readers.push_back(&process);
    }
    ::poll(ends.data(), ends.size(), poll_interval_ms);
    if (interrupted != 0 && !stopping_) {
      stopping_ = true;
      for (PointProcess& process : running_) process.stop();
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents != 0) readers[i]->read();
    }
    show_progress();
  }

  void show_progress() {
    if (options_.quiet || !progress_.on_terminal()) return;
    const PointProgress& first = running_.front().progress();
    const std::size_t done = started_ - running_.size();
    std::string line = fmt::format("{}: {} of {} points; {} clients: {:.2f} M ops", scenario_.name, done,
                                   scenario_.clients.size(), scenario_.clients[done],
                                   static_cast<double>(first.operations) * 1e-6);
    if (scenario_.load.total_operations > 0 && options_.sample_operations == 0) {
      line += fmt::format(" of {:.2f} M", static_cast<double>(scenario_.load.total_operations) * 1e-6);
    }
    progress_.show(line + fmt::format(", {:.2f} s simulated", first.simulated_s));
  }

  const Options& options_;
  const Profile& profile_;
  const Scenario& scenario_;
  const RunDirectory& directory_;
  std::uint32_t jobs_ = 1;
  std::deque<PointProcess> running_;  // in the order of the points
  std::size_t started_ = 0;
  bool stopping_ = false;
  ProgressLine progress_;
};

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
    print_point_header();
  }
  Outcome outcome;
  Points points(options, profile, scenario, directory);
  while (points.more()) {
    PointResult point = points.next();
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
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
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
    if (interrupted != 0) return exit_interrupted;
  }
  return all.partial || all.violated > 0 ? exit_failed : 0;
}

}  // namespace rkv::sim
