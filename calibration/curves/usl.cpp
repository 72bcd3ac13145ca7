#include "calibration/curves/usl.hpp"

#include <Eigen/Dense>
#include <limits>
#include <set>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <vector>

namespace rkv::calibration {
namespace {

// With a = 1 / lambda, b = sigma / lambda, c = kappa / lambda the law is N / X = a + b (N - 1) + c N (N - 1).
// A face of the allowed parameters is where some of b and c are 0; these are not in `terms`.
using Terms = std::vector<double (*)(double)>;

constexpr double one(double /*clients*/) {
  return 1;
}
constexpr double contention(double clients) {
  return clients - 1;
}
constexpr double coherency(double clients) {
  return clients * (clients - 1);
}

// The relative residuals of the throughput, for Eigen.
struct Residuals : Eigen::DenseFunctor<double> {
  Residuals(const Curve& measured, const Terms& terms)
      : DenseFunctor(static_cast<int>(terms.size()), static_cast<int>(measured.size())),
        weights(values(), inputs()) {
    // Each row is N / X of a term alone, in parts of the measured one: their sum is the measured throughput
    // over the law's.
    for (int row = 0; row < values(); ++row) {
      const auto& [clients, value] = measured[static_cast<std::size_t>(row)];
      for (int column = 0; column < inputs(); ++column) {
        weights(row, column) = terms[static_cast<std::size_t>(column)](clients) * value / clients;
      }
    }
  }

  int operator()(const Eigen::VectorXd& parameters, Eigen::VectorXd& residuals) const {
    const Eigen::VectorXd inverse = weights * parameters;
    if (inverse.minCoeff() <= 0) {
      residuals.setConstant(1e6);  // a throughput below 0: no step goes here
      return 0;
    }
    residuals = inverse.cwiseInverse().array() - 1;
    return 0;
  }

  int df(const Eigen::VectorXd& parameters, Eigen::MatrixXd& jacobian) const {
    const Eigen::VectorXd inverse = weights * parameters;
    jacobian = -(inverse.array().square().inverse().matrix().asDiagonal() * weights);
    return 0;
  }

  Eigen::MatrixXd weights;
};

struct Solution {
  Eigen::VectorXd parameters;
  double cost = std::numeric_limits<double>::infinity();
};

Solution minimise(const Curve& measured, const Terms& terms) {
  Residuals residuals(measured, terms);
  // Start where the relative residuals of N / X, which are linear, are least; where that is not allowed, at
  // linear scaling by the mean of all points.
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(residuals.values());
  Eigen::VectorXd parameters = residuals.weights.colPivHouseholderQr().solve(ones);
  if ((residuals.weights * parameters).minCoeff() <= 0) {
    parameters.setZero();
    parameters(0) = 1 / residuals.weights.col(0).mean();
  }
  Eigen::LevenbergMarquardt<Residuals> solver(residuals);
  constexpr double exact = 4 * std::numeric_limits<double>::epsilon();
  solver.setFtol(exact);
  solver.setXtol(exact);
  solver.setGtol(0);
  solver.setMaxfev(2000);
  solver.minimize(parameters);
  Eigen::VectorXd left(residuals.values());
  residuals(parameters, left);
  return {parameters, left.squaredNorm()};
}

}  // namespace

double Usl::throughput_ops_s(double clients) const {
  return lambda_ops_s * clients / (1 + sigma * (clients - 1) + kappa * clients * (clients - 1));
}

double Usl::latency_us(double clients, std::uint32_t outstanding) const {
  return clients * outstanding / throughput_ops_s(clients) * 1e6;
}

std::optional<Usl> fit_usl(const Curve& throughput_ops_s) {
  std::set<std::uint32_t> different;
  for (const Sample& sample : throughput_ops_s) {
    different.insert(sample.clients);
  }
  if (different.empty()) {
    return std::nullopt;
  }
  // The best point of the allowed ones lies within one of the faces and is a minimum of it; so of all faces'
  // minima that are allowed it is the least.
  struct Face {
    bool sigma;
    bool kappa;
  };
  std::optional<Usl> best;
  double least = std::numeric_limits<double>::infinity();
  for (const Face face : {Face{false, false}, Face{true, false}, Face{false, true}, Face{true, true}}) {
    if ((face.sigma && different.size() < 2) || (face.kappa && different.size() < 3)) {
      continue;
    }
    Terms terms{&one};
    if (face.sigma) terms.push_back(&contention);
    if (face.kappa) terms.push_back(&coherency);
    const Solution found = minimise(throughput_ops_s, terms);
    if (found.parameters.allFinite() && found.parameters(0) > 0 && found.parameters.minCoeff() >= 0 &&
        found.cost < least) {
      least = found.cost;
      const double lambda = 1 / found.parameters(0);
      best = Usl{.lambda_ops_s = lambda,
                 .sigma = face.sigma ? found.parameters(1) * lambda : 0,
                 .kappa = face.kappa ? found.parameters(found.parameters.size() - 1) * lambda : 0};
    }
  }
  return best;
}

std::optional<Usl> fit_usl_to_latency(const Curve& latency_us, std::uint32_t outstanding) {
  Curve throughput_ops_s;
  for (const Sample& sample : latency_us) {
    throughput_ops_s.push_back(
        {sample.clients, static_cast<double>(sample.clients) * outstanding / sample.value * 1e6});
  }
  return fit_usl(throughput_ops_s);
}

}  // namespace rkv::calibration
