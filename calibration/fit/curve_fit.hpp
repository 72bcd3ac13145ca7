// A fit of a profile to measured curves: which points it takes, with what weight, and how a set of parameter
// values becomes simulated points.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/curves/points.hpp"
#include "calibration/fit/least_squares.hpp"
#include "calibration/simulate/curves.hpp"

namespace rkv::calibration {

struct Selection {
  std::uint32_t most_clients = 65536;
  std::vector<std::uint32_t> clients;              // only these; empty: all
  std::optional<double> model_error{};             // see choose()
  std::map<std::string, double> model_error_of{};  // the same of single metrics
};

struct LeftOut {
  Point point;
  std::string why;
};

struct FitPoints {
  std::vector<Point> points;
  std::vector<Target> targets;  // one a point
  std::vector<LeftOut> left_out;
};

// Leaves out what no closed loop can have (clients / throughput >= latency is violated) and what the
// selection does not take. A target's sigma is what the model can be expected to meet (model_error, relative;
// if not given, 2 % of a mean latency, 4 % of a throughput, which stragglers and ramp shift, 10 % of a
// quantile or of context switches) and the given spread together: the smaller the model's, the more the
// spreads decide how points count. Throws InputError when nothing is left.
[[nodiscard]] FitPoints choose(const PointFile& measured, const Selection& selection);

// The simulator as a model of these points. Places that a parameter can't concern are not simulated again for
// it, nor are sets of values that were simulated before. Everything given must outlive the model.
class CurveModel {
 public:
  CurveModel(const nlohmann::json& base_profile, const std::vector<Parameter>& parameters,
             const std::vector<Point>& points, ScenarioSet& scenarios, const SimulationSettings& settings);

  std::vector<std::vector<double>> operator()(const std::vector<Trial>& trials);
  [[nodiscard]] std::size_t simulations() const { return simulations_; }
  // Whether any of its points are samples of runs, with the base profile.
  [[nodiscard]] bool samples() const;

 private:
  using Results = std::vector<PointResult>;  // of the places

  const nlohmann::json& base_;
  const std::vector<Parameter>& parameters_;
  const std::vector<Point>& points_;
  ScenarioSet& scenarios_;
  const SimulationSettings& settings_;
  std::vector<Place> places_;
  std::vector<std::size_t> place_of_;  // a point each
  std::vector<double> known_values_;   // of the last full set
  Results known_;
  std::size_t simulations_ = 0;
};

}  // namespace rkv::calibration
