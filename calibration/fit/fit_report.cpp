#include "calibration/fit/fit_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/curves/errors.hpp"

namespace rkv::calibration {
namespace {

// Of a parameter on a curve: less is no influence.
constexpr double least_elasticity = 0.005;

std::string curve(const Point& point) {
  return fmt::format("{} {}", point.transport, point.completion);
}

// Those that the parameter shapes.
std::set<std::string> curves_of(std::size_t parameter, const FitPoints& points, const Fit& fit) {
  std::set<std::string> curves;
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    if (std::abs(fit.elasticity[i][parameter]) >= least_elasticity) curves.insert(curve(points.points[i]));
  }
  return curves;
}

std::string verdict(const std::vector<Parameter>& parameters, const FittedParameter& fitted) {
  if (fitted.on_bound) return "on its bound";
  if (fitted.like != none_changed) return "only together with " + parameters[fitted.like].path;
  return fitted.identified ? "identified" : "not identified by the data";
}

}  // namespace

void print_fit(const std::vector<Parameter>& parameters, const FitPoints& points, const Fit& fit) {
  fmt::print("{:44} {:>12} {:>12} {:>25}  {}\n", "parameter", "base", "fitted", "95 % interval", "");
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const FittedParameter& fitted = fit.parameters[j];
    fmt::print("{:44} {:12.4g} {:12.4g} {:>25}  {}\n", parameters[j].path, parameters[j].base, fitted.value,
               fmt::format("{:.4g} to {:.4g}", fitted.low, fitted.high), verdict(parameters, fitted));
  }
  std::map<CurveKey, std::vector<ComparedPoint>> curves;
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    const Point& point = points.points[i];
    curves[{point.transport, point.completion, point.metric, point.scenario}].push_back(
        {.clients = point.clients, .measured = points.targets[i].measured, .predicted = fit.modelled[i]});
  }
  fmt::print("\n{:44} {:>6} {:>12} {:>12}\n", "curve", "points", "mean |error|", "worst");
  for (const auto& [key, compared] : curves) {
    const CurveErrors errors = *curve_errors(compared, key.metric);
    fmt::print("{:44} {:6} {:>10.2f} % {:>10.2f} %  with {} clients\n", curve_name(key) + " " + key.metric,
               errors.points, errors.mean_absolute_error_percent, errors.worst.error_percent(),
               errors.worst.clients);
  }
  fmt::print("\ncost {:.1f} before, {:.1f} after {} iterations\n", fit.cost_before, fit.cost, fit.iterations);
}

nlohmann::json fit_report(const std::vector<Parameter>& parameters, const FitPoints& points, const Fit& fit) {
  nlohmann::json report;
  report["cost_before"] = fit.cost_before;
  report["cost"] = fit.cost;
  report["iterations"] = fit.iterations;
  report["converged"] = fit.converged;
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    const FittedParameter& fitted = fit.parameters[j];
    report["parameters"].push_back({{"path", parameters[j].path},
                                    {"why", parameters[j].why},
                                    {"base", parameters[j].base},
                                    {"prior_sigma", parameters[j].sigma},
                                    {"bounds", {parameters[j].least, parameters[j].most}},
                                    {"value", fitted.value},
                                    {"interval_95", {fitted.low, fitted.high}},
                                    {"learnt", fitted.learnt},
                                    {"verdict", verdict(parameters, fitted)},
                                    {"curves", curves_of(j, points, fit)}});
  }
  report["points"] = nlohmann::json::array();
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    const Point& point = points.points[i];
    report["points"].push_back({{"transport", point.transport},
                                {"completion", point.completion},
                                {"clients", point.clients},
                                {"metric", point.metric},
                                {"scenario", point.scenario},
                                {"measured", points.targets[i].measured},
                                {"fitted", fit.modelled[i]},
                                {"relative_error", fit.modelled[i] / points.targets[i].measured - 1},
                                {"sigma", points.targets[i].sigma}});
  }
  report["left_out"] = nlohmann::json::array();
  for (const LeftOut& one : points.left_out) {
    report["left_out"].push_back({{"transport", one.point.transport},
                                  {"completion", one.point.completion},
                                  {"clients", one.point.clients},
                                  {"metric", one.point.metric},
                                  {"scenario", one.point.scenario},
                                  {"why", one.why}});
  }
  return report;
}

}  // namespace rkv::calibration
