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
constexpr int trials_of_corrected = 2;  // by a corrected Jacobian, the first included

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
        held_(parameters.size()) {
    for (const Parameter& parameter : parameters) scales_.emplace_back(parameter);
  }

  [[nodiscard]] int inputs() const { return static_cast<int>(parameters_.size()); }
  [[nodiscard]] int values() const { return static_cast<int>(targets_.size() + parameters_.size()); }

  // Less than 0, which ends the search: the Jacobian is a corrected one and has led nowhere before.
  int operator()(const VectorXd& x, VectorXd& residuals) {
    if (corrections_ > 0 && tried_since_jacobian_ == trials_of_corrected) return -1;
    ++tried_since_jacobian_;
    if (is(x, jacobian_at_)) {
      residuals = jacobian_residuals_;
      return 0;
    }
    residuals = residuals_of(x, model_({{.values = values_at(x)}}).front());
    tried_ = x;
    tried_residuals_ = residuals;
    return 0;
  }

  int df(const VectorXd& x, MatrixXd& jacobian) {
    if (!anew_ && is(x, tried_) && corrections_ < settings_.corrections) {
      const VectorXd step = x - jacobian_at_;
      const VectorXd unforeseen = tried_residuals_ - jacobian_residuals_ - jacobian_ * step;
      if (longest(x, jacobian_at_) >= step_) {
        jacobian_ += unforeseen * step.transpose() / step.squaredNorm();
        for (Index j = 0; j < inputs(); ++j) {
          if (held_[static_cast<std::size_t>(j)]) jacobian_.col(j).head(data()).setZero();
        }
      }
      jacobian_residuals_ = tried_residuals_;
      ++corrections_;
    } else {
      take_jacobian(x);
      anew_ = false;
      corrections_ = 0;
    }
    jacobian_at_ = x;
    tried_since_jacobian_ = 0;
    jacobian = jacobian_;
    return 0;
  }

  // The next one is by finite differences.
  void forget_jacobian() {
    anew_ = true;
    corrections_ = 0;
  }

  [[nodiscard]] bool slopes_serve(const VectorXd& x) const { return serve(*slopes_, x); }

  // All that a Fit says of this point.
  Fit describe(const VectorXd& x) {
    evaluate_slopes(x);
    Fit fit;
    fit.modelled = modelled_at(x);
    fit.cost = residuals_of(x, fit.modelled).squaredNorm();
    MatrixXd information = MatrixXd::Zero(inputs(), inputs());
    for (Index i = 0; i < static_cast<Index>(targets_.size()); ++i) {
      VectorXd row(inputs());
      const double weight = weight_of(i, fit.modelled);
      for (Index j = 0; j < inputs(); ++j) row(j) = weight * elasticity(i, j);
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
  void set_step(double step) {
    if (step != step_) forget_jacobian();
    step_ = step;
  }

  // A search leaves these to their priors from now on. Until release() their slopes are those of the place
  // that was described last; the search begins with all slopes of it.
  void hold(std::vector<bool> held) {
    held_ = std::move(held);
    when_held_ = *slopes_;
    jacobian_at_ = slopes_->at;
    take_jacobian(jacobian_at_);
    anew_ = false;
    corrections_ = 1;
    tried_since_jacobian_ = 0;
  }
  void release() { held_.assign(held_.size(), false); }

 private:
  struct Slopes {
    VectorXd at;
    std::vector<double> here;                       // modelled
    std::vector<std::vector<double>> elasticities;  // of each target and parameter
  };

  [[nodiscard]] Index data() const { return static_cast<Index>(targets_.size()); }
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

  static bool is(const VectorXd& x, const VectorXd& known) { return x.size() == known.size() && x == known; }

  // The distance of ln p in that parameter in which it is longest.
  [[nodiscard]] double longest(const VectorXd& x, const VectorXd& y) const {
    double most = 0;
    for (Index j = 0; j < inputs(); ++j)
      most = std::max(most, std::abs(scale(j).log_p(x(j)) - scale(j).log_p(y(j))));
    return most;
  }

  void take_jacobian(const VectorXd& x) {
    evaluate_slopes(x);
    const std::vector<double> modelled = modelled_at(x);
    jacobian_residuals_ = residuals_of(x, modelled);
    jacobian_.setZero(values(), inputs());
    for (Index j = 0; j < inputs(); ++j) {
      const double slope = scale(j).slope(x(j));
      for (Index i = 0; i < data() && !held_[static_cast<std::size_t>(j)]; ++i) {
        jacobian_(i, j) = weight_of(i, modelled) * elasticity(i, j) * slope;
      }
      jacobian_(data() + j, j) = slope / parameter(j).sigma;
    }
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
  [[nodiscard]] double weight_of(Index i, const std::vector<double>& modelled) const {
    const auto at = static_cast<std::size_t>(i);
    return robust_slope(residual(at, modelled[at]), settings_.robust_at) / targets_[at].sigma;
  }

  void evaluate_slopes(const VectorXd& x) {
    Slopes& known = known_slopes_[step_];
    if (!serve(known, x)) known = slopes(x);
    slopes_ = &known;
  }

  [[nodiscard]] bool serve(const Slopes& known, const VectorXd& x) const {
    return is(x, known.at) || (known.at.size() > 0 && longest(x, known.at) < settings_.slopes_serve_within);
  }

  [[nodiscard]] std::vector<double> modelled_at(const VectorXd& x) const {
    return is(x, slopes_->at) ? slopes_->here : model_({{.values = values_at(x)}}).front();
  }

  [[nodiscard]] Slopes slopes(const VectorXd& x) const {
    const std::vector<double> values = values_at(x);
    std::vector<Trial> trials{{.values = values}};
    std::vector<double> steps;
    std::vector<std::size_t> stepped;
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (held_[j]) continue;
      // All in one direction: two parameters that have the same effect are then seen to have it.
      steps.push_back(values[j] * std::exp(step_) < parameters_[j].most ? step_ : -step_);
      trials.push_back({.values = values, .changed = j});
      trials.back().values[j] *= std::exp(steps.back());
      stepped.push_back(j);
    }
    const std::vector<std::vector<double>> modelled = model_(trials);
    Slopes found{.at = x,
                 .here = modelled.front(),
                 .elasticities{targets_.size(), std::vector<double>(values.size())}};
    if (stepped.size() < values.size()) found.elasticities = when_held_.elasticities;
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
  Slopes when_held_;
  MatrixXd jacobian_;  // the last one, and where
  VectorXd jacobian_at_;
  VectorXd jacobian_residuals_;
  bool anew_ = true;
  std::size_t corrections_ = 0;
  int tried_since_jacobian_ = 0;
  VectorXd tried_;  // last
  VectorXd tried_residuals_;
  std::vector<Scale> scales_;
  std::map<double, Slopes> known_slopes_;  // the last ones, by step
  const Slopes* slopes_ = nullptr;         // those in use
};

// Where a descent is.
struct Descent {
  VectorXd x;
  double cost = std::numeric_limits<double>::infinity();
  std::size_t iterations = 0;
};

// Iterates with one Jacobian and its corrections until the solver ends by itself; false: the iterations ran
// out.
bool search(Problem& problem, const FitSettings& settings, Descent& descent) {
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

// Iterates with one step for slopes until even true ones lead nowhere, or those that serve; false: the
// iterations ran out.
bool descend(Problem& problem, const FitSettings& settings, Descent& descent) {
  for (;;) {
    const Descent before = descent;
    if (!search(problem, settings, descent)) return false;
    if (problem.slopes_serve(descent.x)) return true;
    if (descent.cost > before.cost * (1 - settings.enough)) {
      descent.x = before.x;  // where slopes are known
      descent.cost = before.cost;
      return true;
    }
    problem.forget_jacobian();
  }
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
  problem.hold(held);
  const bool converged = descend_by_turns(problem, settings, descent);
  problem.release();
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
