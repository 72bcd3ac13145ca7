// rkv-calibrate fit: finds the profile's values at which simulated curves meet measured ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backends/sim/profile/load.hpp"
#include "calibration/curves/output_file.hpp"
#include "calibration/fit/fit_report.hpp"
#include "calibration/rkv_calibrate/command.hpp"
#include "calibration/rkv_calibrate/simulation_options.hpp"
#include "core/error.hpp"
#include "core/report/run_info.hpp"

namespace rkv::calibration {
namespace {

constexpr const char* footer = R"(
Parameters are paths into the profile (docs/profile.md); "hosts." is both hosts. Each is drawn towards the base
profile's value, so that one that the data don't identify stays there. A list of them with what is believed of
each: --parameters FILE.json, [{"path": ..., "sigma": 0.5, "least": ..., "most": ..., "why": ...}, ...], where
sigma is the believed relative uncertainty (of the logarithm).
FITTED.json is written only when the fit converged with no parameter on its bound; what was found is in
FITTED.fit.json in any case. Example:
  rkv-calibrate fit --profile calibration/profiles/das5.json --measurements curves.csv --max-clients 15 \
    --free hosts.memory.remote_socket_factor,nic.uc.send_ns --out fitted.json)";

struct Options {
  std::string profile;
  std::vector<std::string> profile_overrides;
  std::string measurements;
  std::vector<std::string> free;
  std::string parameters;
  std::string begin;
  std::string out;
  Selection selection;
  std::vector<std::string> model_errors;  // METRIC=ERROR
  FitSettings fit;
  SimulationOptions simulation;
};

std::vector<Parameter> parameters_of(const Options& options, const nlohmann::json& base) {
  if (options.free.empty() == options.parameters.empty()) {
    throw InputError("give either --free PATH,PATH,... or --parameters FILE.json");
  }
  return options.free.empty() ? read_parameters(options.parameters, base)
                              : named_parameters(options.free, base);
}

void add_model_error(const std::string& text, Selection& selection) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string metric = text.substr(0, equals);
  const std::vector<std::string>& known = metrics();
  if (std::find(known.begin(), known.end(), metric) == known.end()) {
    throw InputError(fmt::format("--model-error-of {}: there is no metric {}; allowed: {}", text, metric,
                                 fmt::join(known, ", ")));
  }
  double error = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + std::min(equals + 1, text.size()), end, error);
  if (parsed.ec != std::errc() || parsed.ptr != end || error < 0.001 || error > 1) {
    throw InputError(fmt::format("--model-error-of {}: needs METRIC=ERROR, an error from 0.001 to 1", text));
  }
  selection.model_error_of[metric] = error;
}

int fit_profile(const Options& options, const std::vector<std::string>& command_line) {
  const std::filesystem::path out = options.out;
  const std::filesystem::path report_file = std::filesystem::path(out).replace_extension(".fit.json");
  const RunInfo run = this_run(command_line);
  check_output_file(out, options.simulation.force);
  check_output_file(report_file, options.simulation.force);
  const nlohmann::json base = sim::to_json(sim::load_profile(options.profile, options.profile_overrides));
  const PointFile measured = read_points(options.measurements, Values::required);
  print_warnings(measured);
  const std::vector<Parameter> parameters = parameters_of(options, base);
  Selection selection = options.selection;
  for (const std::string& text : options.model_errors) add_model_error(text, selection);
  const FitPoints points = choose(measured, selection);
  ScenarioSet scenarios(options.simulation.scenario_dir, options.simulation.overrides);
  check_metrics(measured, scenarios);
  ProgressLine progress;
  SimulationSettings simulation = settings(options.simulation, progress, "fit");
  // It simulates each point hundreds of times, and has many points to average over.
  simulation.sampled_whatever_history = true;
  simulation.operations_a_window = 5000;
  CurveModel model(base, parameters, points.points, scenarios, simulation);
  FitSettings how = options.fit;
  if (!options.begin.empty()) {
    const nlohmann::json earlier = sim::to_json(sim::load_profile(options.begin));
    for (const Parameter& one : parameters_of(options, earlier)) how.begin.push_back(one.base);
  }
  how.enough = 0.01;
  if (model.samples()) {  // they don't follow the parameters smoothly
    how.steps = {0.2};
    how.slopes_serve_within = 0.2;
    how.enough = 0.03;
  }
  how.progress = [&](std::size_t iteration, double cost) {
    progress.clear();
    fmt::print(stderr, "iteration {}: cost {:.2f}, {} simulations\n", iteration, cost, model.simulations());
  };
  const Fit found = fit(parameters, points.targets, std::ref(model), how);
  progress.clear();
  print_fit(parameters, points, found);
  std::vector<double> values;
  std::string on_bounds;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    values.push_back(found.parameters[j].value);
    if (found.parameters[j].on_bound) on_bounds += (on_bounds.empty() ? "" : ", ") + parameters[j].path;
  }
  nlohmann::json report = fit_report(parameters, points, found);
  report["run"] = run_info_json(run);
  replace_file(report_file, report.dump(2) + "\n");
  fmt::print("{} points fitted, {} left out: {}\n", points.points.size(), points.left_out.size(),
             report_file.string());
  if (!found.converged) {
    throw Error(
        fmt::format("the fit had not converged after {} iterations; no profile was written (more: "
                    "--iterations)",
                    found.iterations));
  }
  if (!on_bounds.empty()) {
    throw Error(
        fmt::format("on their bounds: {}; no profile was written. Either the model lacks something, or "
                    "the bounds are wrong",
                    on_bounds));
  }
  nlohmann::json profile = with_values(base, parameters, values);
  profile["description"] = fmt::format("{} Fitted to {}: see {}.", profile.value("description", ""),
                                       options.measurements, report_file.filename().string());
  replace_file(out, profile.dump(2) + "\n");
  fmt::print("profile: {}\n", out.string());
  return 0;
}

}  // namespace

void add_fit(CLI::App& app, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("fit", "Fit parameters of a profile to measured curves");
  command->footer(footer);
  command->add_option("--profile", options->profile, "Profile to begin with")->required();
  command
      ->add_option("--set-profile", options->profile_overrides,
                   "PATH=VALUE: override a field of it; repeatable")
      ->allow_extra_args(false);
  command->add_option("--measurements", options->measurements, "CSV file of measured points")->required();
  command->add_option("--max-clients", options->selection.most_clients, "Leave out points with more clients");
  command->add_option("--clients", options->selection.clients, "Only points with these numbers of clients")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--free", options->free, "PATH,PATH,...: the parameters to fit")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--parameters", options->parameters, "JSON file of the parameters to fit");
  command
      ->add_option(
          "--model-error", options->selection.model_error,
          "Relative error that the model may have, which counts beside the points' spreads (default: "
          "0.02 for mean latencies, 0.04 for throughputs, 0.1 for others)")
      ->check(CLI::Range(0.001, 1.0));
  command
      ->add_option("--model-error-of", options->model_errors,
                   "METRIC=ERROR: the same for one metric; repeatable")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "Profile to write")->required();
  command->add_option("--iterations", options->fit.most_iterations, "At most")->capture_default_str();
  command->add_option(
      "--begin", options->begin,
      "Profile of an earlier fit: begin with its values where they meet the curves better than "
      "the base profile's");
  command
      ->add_option(
          "--starts", options->fit.starts,
          "Try so many random sets of values first and begin with the best: where the way from the base "
          "profile leads into a wrong valley")
      ->capture_default_str();
  add_simulation_options(*command, options->simulation);
  command->callback([run, options] {
    *run = [options](const std::vector<std::string>& command_line) {
      return fit_profile(*options, command_line);
    };
  });
}

}  // namespace rkv::calibration
