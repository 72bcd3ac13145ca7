#include "calibration/fit/least_squares.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <unsupported/Eigen/NonLinearOptimization>

#include "core/error.hpp"

namespace rkv::calibration {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double bound_margin = 0.01;
constexpr double identified_at = 0.5;
constexpr double like_at = 0.95;
constexpr double normal_95 = 1.96;

// Searched is x; the parameter is p. The base profile's value is at x = 1: the solver's first step is as long
// as x is, so x must not be 0 there.
class Scale {
 public:
  explicit Scale(const Parameter& parameter)
      : low_(std::log(parameter.least)), range_(std::log(parameter.most) - low_) {
    origin_ = logit(part(std::log(parameter.base))) - base_x;
  }
  static constexpr double base_x = 1;
  [[nodiscard]] double log_p(double x) const { return low_ + range_ * logistic(x + origin_); }
  [[nodiscard]] double slope(double x) const {  // d ln p / dx
    const double part = logistic(x + origin_);
    return range_ * part * (1 - part);
  }
  [[nodiscard]] double part(double log_p) const { return (log_p - low_) / range_; }
  [[nodiscard]] double at_part(double part) const { return logit(part) - origin_; }

 private:
  static double logistic(double x) { return 1 / (1 + std::exp(-x)); }
  static double logit(double part) { return std::log(part / (1 - part)); }

  double low_;
  double range_;
  double origin_ = 0;
};

double hypotenuse(double residual, double at) {
  return std::hypot(1, residual / at);
}

// Its square is the pseudo-Huber loss, 2 at^2 (sqrt(1 + (residual / at)^2) - 1), without its cancellation.
double robust(double residual, double at) {
  return residual * std::sqrt(2 / (hypotenuse(residual, at) + 1));
}

double robust_slope(double residual, double at) {
  const double hypotenuse_here = hypotenuse(residual, at);
  return std::sqrt((hypotenuse_here + 1) / 2) / hypotenuse_here;
}

class Problem {
 public:
  using Scalar = double;
  using InputType = VectorXd;
  using ValueType = VectorXd;
  using JacobianType = MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  Problem(const std::vector<Parameter>& parameters, const std::vector<Target>& targets, const Model& model,
          const FitSettings& settings)
      : parameters_(parameters),
        targets_(targets),
        model_(model),
        settings_(settings),
        step_(settings.steps.front()),
        held_(parameters.size()),
        slopes_at_(VectorXd::Zero(static_cast<Index>(parameters.size()))) {
    for (const Parameter& parameter : parameters) scales_.emplace_back(parameter);
  }

  [[nodiscard]] int inputs() const { return static_cast<int>(parameters_.size()); }
  [[nodiscard]] int values() const { return static_cast<int>(targets_.size() + parameters_.size()); }

  int operator()(const VectorXd& x, VectorXd& residuals) {
    residuals = residuals_of(x, model_({{.values = values_at(x)}}).front());
    return 0;
  }

  int df(const VectorXd& x, MatrixXd& jacobian) {
    evaluate_slopes(x);
    jacobian.setZero(values(), inputs());
    for (Index j = 0; j < inputs(); ++j) {
      for (Index i = 0; i < static_cast<Index>(targets_.size()); ++i) {
        jacobian(i, j) = weight(i) * elasticity(i, j) * scale(j).slope(x(j));
      }
      jacobian(static_cast<Index>(targets_.size()) + j, j) = scale(j).slope(x(j)) / parameter(j).sigma;
    }
    return 0;
  }

  // All that a Fit says of this point.
  Fit describe(const VectorXd& x) {
    evaluate_slopes(x);
    Fit fit;
    fit.modelled = slopes_->here;
    fit.cost = residuals_of(x, fit.modelled).squaredNorm();
    MatrixXd information = MatrixXd::Zero(inputs(), inputs());
    for (Index i = 0; i < static_cast<Index>(targets_.size()); ++i) {
      VectorXd row(inputs());
      for (Index j = 0; j < inputs(); ++j) row(j) = weight(i) * elasticity(i, j);
      information += row * row.transpose();
      fit.elasticity.push_back(slopes_->elasticities[static_cast<std::size_t>(i)]);
    }
    for (Index j = 0; j < inputs(); ++j) information(j, j) += 1 / std::pow(parameter(j).sigma, 2);
    const MatrixXd covariance = information.inverse();
    for (Index j = 0; j < inputs(); ++j) {
      FittedParameter fitted;
      const double log_p = scale(j).log_p(x(j));
      const double deviation = std::sqrt(covariance(j, j));
      fitted.value = std::exp(log_p);
      fitted.low = std::exp(log_p - normal_95 * deviation);
      fitted.high = std::exp(log_p + normal_95 * deviation);
      fitted.learnt = 1 - deviation / parameter(j).sigma;
      const double part = scale(j).part(log_p);
      fitted.on_bound = part < bound_margin || part > 1 - bound_margin;
      double most = like_at;
      for (Index k = 0; k < inputs(); ++k) {
        const double correlation =
            std::abs(covariance(j, k)) / std::sqrt(covariance(j, j) * covariance(k, k));
        if (k == j || correlation <= most) continue;
        most = correlation;
        fitted.like = static_cast<std::size_t>(k);
      }
      fitted.identified = fitted.learnt > identified_at;
      fit.parameters.push_back(fitted);
    }
    return fit;
  }

  // The best of the base profile's set, those of an earlier fit, and some drawn from the priors.
  VectorXd start() {
    std::vector<VectorXd> tried{base()};
    const auto add = [&](const auto& log_p_of) {
      VectorXd& x = tried.emplace_back(inputs());
      for (Index j = 0; j < inputs(); ++j) {
        const double part = std::clamp(scale(j).part(log_p_of(j)), 2 * bound_margin, 1 - 2 * bound_margin);
        x(j) = scale(j).at_part(part);
      }
    };
    if (!settings_.begin.empty()) {
      add([&](Index j) { return std::log(settings_.begin[static_cast<std::size_t>(j)]); });
    }
    std::mt19937_64 random(settings_.seed);
    std::normal_distribution<double> normal;
    for (std::size_t n = 0; n < settings_.starts; ++n) {
      add([&](Index j) { return std::log(parameter(j).base) + parameter(j).sigma * normal(random); });
    }
    if (tried.size() == 1) return tried.front();
    std::vector<Trial> trials;
    for (const VectorXd& x : tried) trials.push_back({.values = values_at(x)});
    const std::vector<std::vector<double>> modelled = model_(trials);
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < tried.size(); ++n) {
      const double cost = residuals_of(tried[n], modelled[n]).squaredNorm();
      if (cost < least) {
        least = cost;
        best = n;
      }
    }
    return tried[best];
  }

  [[nodiscard]] VectorXd base() const { return VectorXd::Constant(inputs(), Scale::base_x); }

  // Of ln p, for slopes from now on.
  void set_step(double step) { step_ = step; }

  // Slopes of these are 0 from now on, whatever the model says: a search leaves them to their priors.
  void set_held(std::vector<bool> held) {
    held_ = std::move(held);
    known_slopes_.clear();
  }

 private:
  struct Slopes {
    std::vector<double> here;                       // modelled
    std::vector<std::vector<double>> elasticities;  // of each target and parameter
  };

  [[nodiscard]] const Parameter& parameter(Index j) const { return parameters_[static_cast<std::size_t>(j)]; }
  [[nodiscard]] const Scale& scale(Index j) const { return scales_[static_cast<std::size_t>(j)]; }
  [[nodiscard]] double elasticity(Index i, Index j) const {
    return slopes_->elasticities[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }

  [[nodiscard]] std::vector<double> values_at(const VectorXd& x) const {
    std::vector<double> values;
    for (Index j = 0; j < inputs(); ++j) values.push_back(std::exp(scale(j).log_p(x(j))));
    return values;
  }

  [[nodiscard]] double residual(std::size_t i, double modelled) const {
    if (!(modelled > 0)) throw Error("a simulated value is not positive; nothing can be fitted to it");
    return std::log(modelled / targets_[i].measured) / targets_[i].sigma;
  }

  [[nodiscard]] VectorXd residuals_of(const VectorXd& x, const std::vector<double>& modelled) const {
    VectorXd residuals(values());
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      residuals(static_cast<Index>(i)) = robust(residual(i, modelled[i]), settings_.robust_at);
    }
    for (Index j = 0; j < inputs(); ++j) {
      residuals(static_cast<Index>(targets_.size()) + j) =
          (scale(j).log_p(x(j)) - std::log(parameter(j).base)) / parameter(j).sigma;
    }
    return residuals;
  }

  // d robust / d ln model
  [[nodiscard]] double weight(Index i) const {
    const auto at = static_cast<std::size_t>(i);
    return robust_slope(residual(at, slopes_->here[at]), settings_.robust_at) / targets_[at].sigma;
  }

  // Where a descent ended without a gain they are known already.
  void evaluate_slopes(const VectorXd& x) {
    if (x != slopes_at_) known_slopes_.clear();
    slopes_at_ = x;
    const auto [known, is_new] = known_slopes_.try_emplace(step_);
    if (is_new) known->second = slopes(values_at(x));
    slopes_ = &known->second;
  }

  [[nodiscard]] Slopes slopes(const std::vector<double>& values) const {
    std::vector<Trial> trials{{.values = values}};
    std::vector<double> steps;
    std::vector<std::size_t> stepped;
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (held_[j]) continue;
      // Away from the nearer bound.
      const double part = scales_[j].part(std::log(values[j]));
      steps.push_back(part < 0.5 ? step_ : -step_);
      trials.push_back({.values = values, .changed = j});
      trials.back().values[j] *= std::exp(steps.back());
      stepped.push_back(j);
    }
    const std::vector<std::vector<double>> modelled = model_(trials);
    Slopes found{.here = modelled.front(),
                 .elasticities{targets_.size(), std::vector<double>(values.size())}};
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      for (std::size_t k = 0; k < stepped.size(); ++k) {
        found.elasticities[i][stepped[k]] = std::log(modelled[k + 1][i] / found.here[i]) / steps[k];
      }
    }
    return found;
  }

  const std::vector<Parameter>& parameters_;
  const std::vector<Target>& targets_;
  const Model& model_;
  const FitSettings& settings_;
  double step_;
  std::vector<bool> held_;  // by parameter
  std::vector<Scale> scales_;
  VectorXd slopes_at_;                     // where slopes were last taken
  std::map<double, Slopes> known_slopes_;  // there, by step
  const Slopes* slopes_ = nullptr;         // the last ones
};

// Where a descent is.
struct Descent {
  VectorXd x;
  double cost = std::numeric_limits<double>::infinity();
  std::size_t iterations = 0;
};

// Iterates with one step for slopes until the solver ends by itself; false: the iterations ran out.
bool descend(Problem& problem, const FitSettings& settings, Descent& descent) {
  using namespace Eigen::LevenbergMarquardtSpace;
  Eigen::LevenbergMarquardt<Problem> solver(problem);
  solver.parameters.ftol = settings.enough;
  solver.parameters.xtol = settings.enough;
  // Steps are measured in x itself, where 1 is a good part of every parameter's range; the first is no
  // longer.
  solver.useExternalScaling = true;
  solver.diag = VectorXd::Ones(problem.inputs());
  solver.parameters.factor = 1 / descent.x.norm();
  auto status = solver.minimizeInit(descent.x);
  while (status == Running || status == NotStarted) {
    if (descent.iterations == settings.most_iterations) return false;
    status = solver.minimizeOneStep(descent.x);
    ++descent.iterations;
    descent.cost = solver.fnorm * solver.fnorm;
    if (settings.progress) settings.progress(descent.iterations, descent.cost);
  }
  return true;
}

// With one step after the other, until each has ended where the others had. False: the iterations ran out.
bool descend_by_turns(Problem& problem, const FitSettings& settings, Descent& descent) {
  std::size_t ended_here = 0;
  for (std::size_t turn = 0; ended_here < settings.steps.size(); ++turn) {
    problem.set_step(settings.steps[turn % settings.steps.size()]);
    const double before = descent.cost;
    if (!descend(problem, settings, descent)) return false;
    ended_here = descent.cost < before * (1 - settings.enough) ? 1 : ended_here + 1;
  }
  return true;
}

// Of what the data say little, alone or with another one.
std::vector<bool> unidentified(const Fit& fit) {
  std::vector<bool> held;
  for (const FittedParameter& one : fit.parameters) {
    held.push_back(!one.identified && one.like == none_changed);
  }
  return held;
}

// From where a descent ended, with the held parameters at their base values.
std::optional<Descent> descend_without(const std::vector<bool>& held, Problem& problem,
                                       const FitSettings& settings, const Descent& from) {
  Descent descent{.x = from.x, .iterations = from.iterations};
  const VectorXd base = problem.base();
  for (std::size_t j = 0; j < held.size(); ++j) {
    if (held[j]) descent.x(static_cast<Index>(j)) = base(static_cast<Index>(j));
  }
  if (descent.x == from.x) return std::nullopt;
  problem.set_held(held);
  const bool converged = descend_by_turns(problem, settings, descent);
  problem.set_held(std::vector<bool>(held.size()));
  const auto number = static_cast<double>(std::count(held.begin(), held.end(), true));
  if (!converged || descent.cost > from.cost + number) return std::nullopt;
  return descent;
}

}  // namespace

Fit fit(const std::vector<Parameter>& parameters, const std::vector<Target>& targets, const Model& model,
        const FitSettings& settings) {
  Problem problem(parameters, targets, model, settings);
  VectorXd residuals;
  problem(problem.base(), residuals);
  const double cost_before = residuals.squaredNorm();
  Descent descent{.x = problem.start()};
  const bool converged = descend_by_turns(problem, settings, descent);
  problem.set_step(settings.steps.front());
  Fit result = problem.describe(descent.x);
  if (converged) {
    if (const auto back = descend_without(unidentified(result), problem, settings, descent)) {
      descent = *back;
      problem.set_step(settings.steps.front());
      result = problem.describe(descent.x);
    }
  }
  result.cost_before = cost_before;
  result.iterations = descent.iterations;
  result.converged = converged;
  return result;
}

}  // namespace rkv::calibration
