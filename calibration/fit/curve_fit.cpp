#include "calibration/fit/curve_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/sim/profile/load.hpp"
#include "calibration/curves/consistency.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

double model_error(const std::string& metric, const Selection& selection) {
  const auto own = selection.model_error_of.find(metric);
  if (own != selection.model_error_of.end()) return own->second;
  if (selection.model_error) return *selection.model_error;
  if (metric == "latency_mean_us") return 0.02;
  if (metric.starts_with("throughput_")) return 0.04;
  return 0.1;
}

// Published curves may be of one program under two names (TCP, nonblocking and blocking).
bool one_simulation(const Place& one, const Place& other, ScenarioSet& scenarios) {
  if (one == other) return true;
  if (one.clients != other.clients || one.transport != other.transport) return false;
  const auto unnamed = [&](const Place& place) {
    Scenario scenario = scenarios.of(place.transport, place.completion, place.scenario);
    scenario.name.clear();
    scenario.description.clear();
    return scenario;
  };
  return unnamed(one) == unnamed(other);
}

}  // namespace

FitPoints choose(const PointFile& measured, const Selection& selection) {
  FitPoints chosen;
  std::set<Place> impossible;
  for (const ClosedLoopViolation& one : closed_loop_violations(measured.points)) {
    impossible.insert({.transport = one.transport, .completion = one.completion, .clients = one.clients});
  }
  for (const Point& point : measured.points) {
    const auto leave_out = [&](std::string why) { chosen.left_out.push_back({point, std::move(why)}); };
    const bool of_a_loop = point.metric == "throughput_ops_s" || point.metric == "latency_mean_us";
    if (of_a_loop && impossible.contains(place_of(point))) {
      leave_out("clients / throughput is less than the mean latency, which no closed loop can have");
    } else if (point.clients > selection.most_clients) {
      leave_out(fmt::format("more than {} clients", selection.most_clients));
    } else if (!selection.clients.empty() && std::find(selection.clients.begin(), selection.clients.end(),
                                                       point.clients) == selection.clients.end()) {
      leave_out("not among the chosen client counts");
    } else {
      const double spread = point.spread.value_or(0) / *point.value;
      const double sigma = std::hypot(model_error(point.metric, selection), spread);
      chosen.points.push_back(point);
      chosen.targets.push_back({.measured = *point.value, .sigma = sigma});
    }
  }
  if (chosen.points.empty()) {
    throw InputError(fmt::format("{}: no point is left to fit to", measured.source));
  }
  return chosen;
}

CurveModel::CurveModel(const nlohmann::json& base_profile, const std::vector<Parameter>& parameters,
                       const std::vector<Point>& points, ScenarioSet& scenarios,
                       const SimulationSettings& settings)
    : base_(base_profile),
      parameters_(parameters),
      points_(points),
      scenarios_(scenarios),
      settings_(settings) {
  for (const Point& point : points) {
    const Place place = place_of(point);
    const auto known = std::find_if(places_.begin(), places_.end(), [&](const Place& other) {
      return one_simulation(place, other, scenarios_);
    });
    place_of_.push_back(static_cast<std::size_t>(known - places_.begin()));
    if (known == places_.end()) places_.push_back(place);
  }
}

bool CurveModel::samples() const {
  const sim::Profile profile = sim::parse_profile(base_.dump(), "the base profile");
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return is_sampled({.profile = &profile, .place = place}, scenarios_, settings_);
  });
}

std::vector<std::vector<double>> CurveModel::operator()(const std::vector<Trial>& trials) {
  std::vector<sim::Profile> profiles;
  for (const Trial& trial : trials) {
    profiles.push_back(
        sim::parse_profile(with_values(base_, parameters_, trial.values).dump(), "the fitted profile"));
  }
  std::vector<Simulated> list;
  std::vector<std::pair<std::size_t, std::size_t>> meant;  // trial, place
  for (std::size_t t = 0; t < trials.size(); ++t) {
    if (trials[t].values == known_values_) continue;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const std::size_t changed = trials[t].changed;
      if (changed != none_changed && !concerns(parameters_[changed], places_[p].transport)) continue;
      list.push_back({.profile = &profiles[t], .place = places_[p]});
      meant.emplace_back(t, p);
    }
  }
  const std::vector<PointResult> simulated = simulate(list, scenarios_, settings_);
  simulations_ += list.size();
  std::vector<std::map<std::size_t, const PointResult*>> fresh(trials.size());
  for (std::size_t i = 0; i < simulated.size(); ++i) fresh[meant[i].first][meant[i].second] = &simulated[i];
  if (!fresh[0].empty()) {
    known_values_ = trials[0].values;
    known_.resize(places_.size());
    for (const auto& [place, result] : fresh[0]) known_[place] = *result;
  }
  // A set that differs from the first in what does not concern a place has the first one's result there.
  std::vector<std::vector<double>> values(trials.size());
  for (std::size_t t = 0; t < trials.size(); ++t) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto found = fresh[t].find(place_of_[i]);
      const PointResult& point = found == fresh[t].end() ? known_[place_of_[i]] : *found->second;
      values[t].push_back(metric_of(point, points_[i].metric).value_or(0));
    }
  }
  return values;
}

}  // namespace rkv::calibration
