#include "backends/verbs/rkv_real/roles.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "backends/verbs/control/run_server.hpp"
#include "backends/verbs/rkv_real/injected_faults.hpp"
#include "backends/verbs/rkv_real/ports.hpp"
#include "backends/verbs/rkv_real/service.hpp"
#include "core/error.hpp"
#include "core/report/point_table.hpp"
#include "core/report/progress.hpp"
#include "core/report/run_directory.hpp"
#include "core/run/device_checks.hpp"
#include "core/scenario/load.hpp"

namespace rkv::real {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_interrupted = 130;

// Shows a point's progress in one line of the terminal.
class ProgressDisplay {
 public:
  ProgressDisplay(const Scenario& scenario, bool quiet) : scenario_(scenario), quiet_(quiet) {}

  void show(const control::PointProgress& point) {
    if (quiet_ || !line_.on_terminal()) return;
    const auto now = std::chrono::steady_clock::now();
    if (point.started != started_) {
      started_ = last_time_ = point.started;
      last_operations_ = 0;
    }
    const std::chrono::duration<double> since = now - last_time_;
    if (since.count() < 0.2) return;
    const Load& load = scenario_.load;
    line_.show(format_progress(
        {.label = scenario_.name,
         .clients_up = point.clients,
         .clients = point.clients,
         .operations = point.operations,
         .total_operations = load.total_operations,
         .rate_ops_s = static_cast<double>(point.operations - last_operations_) / since.count(),
         .elapsed = now - started_,
         .duration =
             load.duration + load.connect_pause + load.warm_up + load.start_stagger * (point.clients - 1)}));
    last_time_ = now;
    last_operations_ = point.operations;
  }
  void clear() { line_.clear(); }

 private:
  const Scenario& scenario_;
  const bool quiet_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_time_;
  std::uint64_t last_operations_ = 0;
};

// Which device a process uses that takes its scenario from another host.
DeviceOptions own_device(const Options& options) {
  DeviceOptions device;
  if (!options.device.empty()) device.name = options.device;
  if (options.device_port) device.port = *options.device_port;
  device.gid_index = options.gid_index;
  return device;
}

struct Outcome {
  bool partial = false;
  std::uint64_t checked = 0;   // responses of measured operations, where they are checked
  std::uint64_t violated = 0;  // responses that were wrong
};

// A point, or as much of it as could be done.
PointResult measure_point(const std::function<PointResult(std::uint32_t clients)>& run_point,
                          std::uint32_t clients) {
  const InjectedFaults faults;
  PointResult point;
  try {
    point = run_point(clients);
  } catch (const Error& error) {
    point.clients = clients;
    point.partial_reason = error.what();
  }
  point.injected_faults = faults.since();
  return point;
}

// One scenario, all its points, one report.
Outcome run_one(const Options& options, const Scenario& scenario, Ports& ports, RunDirectory& directory,
                const control::StopSignal& interrupt) {
  const RunInfo run = this_run(options.command_line);
  Report report{.backend = Report::Backend::real,
                .program_version = run.program_version,
                .scenario = to_json(scenario),
                .seed = scenario.seed,
                .start_time = run.start_time,
                .command_line = run.command_line,
                .machine = run.machine,
                .device = ports.describe(scenario),
                .profile = {},
                .points = {}};
  ProgressDisplay progress(scenario, options.quiet);
  const auto show = [&progress](const control::PointProgress& point) { progress.show(point); };
  Service service(options, scenario, ports, interrupt, show);
  const auto run_point = [&](std::uint32_t clients) {
    return service.client().run_point(ports.port_for(scenario), scenario, clients);
  };
  directory.write(report);  // from here on there is something to keep
  directory.write_run_info(run);

  if (!options.quiet) {
    fmt::print("{}{}\n", scenario.name,
               report.device.contains("name") ? " on " + report.device["name"].get<std::string>() : "");
    print_point_header();
  }
  Outcome outcome;
  for (const std::uint32_t clients : scenario.clients) {
    PointResult point = measure_point(run_point, clients);
    progress.clear();
    if (!service.client().traces().empty()) {
      const TraceFormat format = trace_format(options.trace_ending).value_or(TraceFormat::csv);
      const std::filesystem::path file = directory.trace_file(clients, file_ending(format));
      write_trace(file, format, service.client().traces(), service.client().trace_origin());
      point.trace_file = file.filename();
    }
    if (!options.quiet) print_point(point);
    print_complaints("rkv-real", point);
    outcome.checked += scenario.check ? point.operations.total() : 0;
    outcome.violated += point.check_violations.count;
    outcome.partial = point.partial();
    report.points.push_back(std::move(point));
    directory.write(report);
    directory.write_run_info(run);
    if (outcome.partial) break;
  }
  if (scenario.check && !options.quiet) {
    fmt::print("checked: {} responses{}, {} wrong\n", outcome.checked,
               scenario.load.warm_up_operations > 0 || scenario.load.warm_up > Duration::zero()
                   ? " and those of the warm-up"
                   : "",
               outcome.violated);
  }
  service.done();
  return outcome;
}

}  // namespace

int run_scenario(const Options& options, const control::StopSignal& interrupt) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.trace_ending.empty()) overrides.emplace_back("trace=true");
  if (!options.device.empty()) overrides.push_back("device.name=" + nlohmann::json(options.device).dump());
  if (options.device_port) overrides.push_back(fmt::format("device.port={}", *options.device_port));
  if (options.gid_index) overrides.push_back(fmt::format("device.gid_index={}", *options.gid_index));
  const std::vector<Scenario> scenarios = expand(options.scenario, overrides, options.clients);
  if (options.processes > 1) {
    if (scenarios.size() > 1)
      throw InputError("--processes: a sweep of other fields than clients runs from one process");
    if (scenarios.front().trace)
      throw InputError("--processes: a trace is kept by a single client process only");
    for (const std::uint32_t clients : scenarios.front().clients) {
      if (clients < options.processes) {
        throw InputError(fmt::format("--processes {}: a point with {} clients has too few for that",
                                     options.processes, clients));
      }
    }
  }
  const bool own_server = options.role == Role::both;
  std::optional<std::string> meeting_host;
  if (!own_server) meeting_host = named_server(options).host;
  Ports ports({.device = {}, .meeting_host = meeting_host, .talks = !options.quiet});
  // All that can be refused is refused before anything starts or is written.
  for (const Scenario& scenario : scenarios) {
    const Port port = ports.port_for(scenario);
    if (port.device != nullptr) check_against_device(scenario, *port.device, options.scenario);
  }
  if (!options.out.empty()) {
    // Taken and given back: a sweep must not find its third place occupied after two were measured.
    for (const Scenario& scenario : scenarios) {
      RunDirectory::at(directory_of(options.out, scenario.name, scenarios.size()));
    }
  }
  Outcome outcome;
  for (const Scenario& scenario : scenarios) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    RunDirectory directory =
        options.out.empty() ? RunDirectory::fresh("results", scenario.name, now)
                            : RunDirectory::at(directory_of(options.out, scenario.name, scenarios.size()));
    const Outcome one = run_one(options, scenario, ports, directory, interrupt);
    if (!options.quiet) fmt::print("report: {}\n", (directory.path() / "report.json").string());
    outcome.violated += one.violated;
    outcome.partial = outcome.partial || one.partial;
    if (one.partial) break;
  }
  if (interrupt.raised()) return exit_interrupted;
  return outcome.violated > 0 || outcome.partial ? exit_failed : 0;
}

int join_run(const Options& options, const control::StopSignal& interrupt) {
  const control::HostPort address = named_server(options);
  Ports ports({.device = own_device(options), .meeting_host = address.host, .talks = !options.quiet});
  control::RunClient client(control::dial(address, control::Clock::now() + dial_patience, interrupt.fd()),
                            interrupt, nullptr);
  Scenario scenario = client.join();
  // Core sets are of the leader's machine.
  scenario.client.cores.clear();
  const Port port = ports.port_for(scenario);
  if (port.device != nullptr) check_against_device(scenario, *port.device, scenario.name);
  if (!options.quiet) print_point_header();
  while (const auto point = client.follow_point(port, scenario)) {
    if (!options.quiet) print_point(*point);
    print_complaints("rkv-real", *point);
    if (point->partial()) return interrupt.raised() ? exit_interrupted : exit_failed;
  }
  return 0;
}

int serve(const Options& options, const control::StopSignal& interrupt) {
  const control::HostPort address = control::parse_host_port(
      options.listen.empty() ? "127.0.0.1" : options.listen, default_port, "--listen");
  control::Listener listener(address);
  Ports ports({.device = own_device(options),
               .service_host = listener.host(),
               .meeting_host = listener.host(),
               .talks = !options.quiet});
  control::RunServer server(
      listener, [&ports](const Scenario& scenario) { return ports.port_for(scenario); }, limits_of(options),
      interrupt, true);
  fmt::print(stderr, "rkv-real server: listening on {}:{}\n", address.host, listener.port());
  while (server.serve_run()) {
    if (options.once || interrupt.raised()) break;
  }
  return interrupt.raised() ? exit_interrupted : 0;
}

}  // namespace rkv::real
