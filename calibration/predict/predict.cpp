// rkv-calibrate predict: what a profile says about points that a file names.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "backends/sim/profile/load.hpp"
#include "calibration/curves/output_file.hpp"
#include "calibration/curves/points.hpp"
#include "calibration/curves/write_points.hpp"
#include "calibration/rkv_calibrate/command.hpp"
#include "calibration/rkv_calibrate/simulation_options.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr const char* footer = R"(
POINTS.csv: transport,completion,clients,metric and, if known, value. Example:
  rkv-calibrate predict --profile calibration/profiles/das5.json --scenario-dir scenarios \
    --points points.csv --out predicted.csv)";

struct Options {
  std::string profile;
  std::vector<std::string> profile_overrides;
  std::string points;
  std::string out;
  SimulationOptions simulation;
};

int predict(const Options& options) {
  check_output_file(options.out, options.simulation.force);
  const sim::Profile profile = sim::load_profile(options.profile, options.profile_overrides);
  PointFile file = read_points(options.points, Values::optional);
  print_warnings(file);
  ScenarioSet scenarios(options.simulation.scenario_dir, options.simulation.overrides);
  check_metrics(file, scenarios);
  std::map<Place, PointResult> results;
  std::vector<Simulated> list;
  for (const Point& point : file.points) {
    const Place place = place_of(point);
    if (results.emplace(place, PointResult{}).second) list.push_back({.profile = &profile, .place = place});
  }
  ProgressLine progress;
  const SimulationSettings how = settings(options.simulation, progress, "predict");
  std::vector<PointResult> simulated = simulate(list, scenarios, how);
  for (std::size_t i = 0; i < list.size(); ++i) results[list[i].place] = std::move(simulated[i]);
  progress.clear();
  std::vector<std::optional<double>> predicted;
  for (const Point& point : file.points) {
    predicted.push_back(metric_of(results[place_of(point)], point.metric));
  }
  write_points(options.out, file.points, predicted);
  fmt::print("{} values of {} simulations: {}\n", predicted.size(), list.size(), options.out);
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("predict", "Simulate the points that a file names");
  command->footer(footer);
  command->add_option("--profile", options->profile, "Profile of the simulated machines")->required();
  command
      ->add_option("--set-profile", options->profile_overrides,
                   "PATH=VALUE: override a field of it; repeatable")
      ->allow_extra_args(false);
  command->add_option("--points", options->points, "CSV file that names points")->required();
  command->add_option("--out", options->out, "CSV file to write: the points with a column \"predicted\"")
      ->required();
  add_simulation_options(*command, options->simulation);
  command->callback([run, options] { *run = [options](const auto&) { return predict(*options); }; });
}

}  // namespace rkv::calibration
