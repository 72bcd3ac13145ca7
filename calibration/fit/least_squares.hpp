// Least squares with priors: finds the parameters at which a model meets what was measured.
//
// It minimises sum rho((ln model_i - ln measured_i) / sigma_i) + sum ((ln p_j - ln base_j) / sigma_j)^2 by
// Levenberg-Marquardt (More, "The Levenberg-Marquardt algorithm: implementation and theory", 1978; Eigen's)
// with a Jacobian by finite differences, which costs a set of values a parameter; it serves for several
// iterations, corrected after each by what the step has shown (Broyden, "A class of methods for solving
// nonlinear simultaneous equations", 1965), until it leads nowhere. The model is to use common random
// numbers: a small change of a parameter must not change what is drawn. Its surface may be rough all the
// same: over a short distance the differences are then chance, which leads nowhere, so they are taken over a
// long one first.
//
// What the data turn out not to identify, alone or together with another parameter, then goes back to its
// base value, and the others are fitted again: a rough surface leads it away by chance. Not where the cost
// grows by more than 1 for each of them, as it does at one standard deviation.
//
// rho is the pseudo-Huber loss (Charbonnier et al., "Deterministic edge-preserving regularization", 1997):
// squares for residuals below `robust_at`, straight lines beyond, so that stragglers don't decide.
// Parameters stay within their bounds: what is searched is the logit of the place of ln p between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/parameter.hpp"

namespace rkv::calibration {

struct Target {
  double measured = 0;  // more than 0
  double sigma = 0.05;  // relative: 0.05 is 5 %
};

// The model's values of all targets for each of several sets of parameter values, all positive. Sets are
// given together so that they can be computed in parallel. `changed` is the index of the only parameter in
// which a set differs from the first one, or none_changed: what it doesn't concern need not be computed anew.
inline constexpr std::size_t none_changed = static_cast<std::size_t>(-1);
struct Trial {
  std::vector<double> values;
  std::size_t changed = none_changed;
};
using Model = std::function<std::vector<std::vector<double>>(const std::vector<Trial>& trials)>;

struct FitSettings {
  double robust_at = 2;  // in sigmas
  // Distances of ln p for the Jacobian, the longest first: one after the other, again and again, until none
  // gains anything. Confidence intervals are by the first one.
  std::vector<double> steps{0.2, 0.05};
  // Slopes serve at places that are no further from where they were taken than this, of ln p in every
  // parameter: on a surface that is rough over the step's distance they are no truer taken anew. 0: only
  // there.
  double slopes_serve_within = 0;
  std::size_t most_iterations = 40;
  std::size_t corrections = 6;  // of a Jacobian, before it is taken anew
  double enough = 0.002;        // ends when an iteration lowers the cost by less than this part
  // Begins at the best of the base profile's values, these (an earlier fit's, one a parameter; may be empty),
  // and so many sets drawn from the priors.
  std::vector<double> begin{};
  std::size_t starts = 0;
  std::uint64_t seed = 1;  // of these
  // Called after each iteration.
  std::function<void(std::size_t iteration, double cost)> progress;
};

struct FittedParameter {
  double value = 0;
  double low = 0, high = 0;  // 95 % confidence interval, from the Gauss-Newton covariance of data and prior
  // How much narrower the data make what is known: 1 - (standard deviation / the prior's). 0: nothing learnt.
  double learnt = 0;
  bool identified = false;          // learnt more than half
  bool on_bound = false;            // within 1 % (of the logarithmic range) of one
  std::size_t like = none_changed;  // not identified apart from this one: their correlation passes 0.95
};

struct Fit {
  std::vector<FittedParameter> parameters;
  std::vector<double> modelled;  // of each target
  // Of each target and parameter: d ln model / d ln p.
  std::vector<std::vector<double>> elasticity;
  double cost_before = 0;
  double cost = 0;
  std::size_t iterations = 0;
  bool converged = false;  // no iteration with any of the steps gains enough any more
};

// Throws rkv::Error when the model gives no positive numbers, and whatever the model throws.
[[nodiscard]] Fit fit(const std::vector<Parameter>& parameters, const std::vector<Target>& targets,
                      const Model& model, const FitSettings& settings);

}  // namespace rkv::calibration
