// The Universal Scalability Law recovers what data was made with.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "calibration/curves/usl.hpp"

using rkv::calibration::Curve;
using rkv::calibration::fit_usl;
using rkv::calibration::fit_usl_to_latency;
using rkv::calibration::Usl;

namespace {

Curve throughput_of(const Usl& law, std::initializer_list<std::uint32_t> clients) {
  Curve curve;
  for (const auto n : clients) {
    curve.push_back({n, law.throughput_ops_s(n)});
  }
  return curve;
}

double cost_of(const Usl& law, const Curve& measured) {
  double cost = 0;
  for (const auto& [clients, value] : measured) {
    cost += std::pow(law.throughput_ops_s(clients) / value - 1, 2);
  }
  return cost;
}

}  // namespace

TEST_CASE("the law in numbers") {
  const Usl law{.lambda_ops_s = 1000, .sigma = 0.1, .kappa = 0.01};
  CHECK(law.throughput_ops_s(1) == Approx(1000));
  CHECK(law.throughput_ops_s(5) == Approx(1000 * 5 / 1.6));  // 1 + 0.1 x 4 + 0.01 x 5 x 4
  CHECK(law.latency_us(5) == Approx(1600));
  CHECK(law.latency_us(5, 2) == Approx(3200));
}

TEST_CASE("exact data gives its parameters back") {
  const Usl law = GENERATE(Usl{30000, 0.03, 0.0005}, Usl{1.5, 0.9, 0.2}, Usl{2e8, 0, 0.001},
                           Usl{25000, 0.05, 0}, Usl{25000, 0, 0});
  CAPTURE(law.lambda_ops_s, law.sigma, law.kappa);
  const auto found = fit_usl(throughput_of(law, {1, 2, 3, 5, 8, 16, 40, 64}));
  REQUIRE(found);
  CHECK(found->lambda_ops_s == Approx(law.lambda_ops_s).epsilon(1e-8));
  CHECK(found->sigma == Approx(law.sigma).epsilon(1e-6).margin(1e-9));
  CHECK(found->kappa == Approx(law.kappa).epsilon(1e-6).margin(1e-11));
}

TEST_CASE("the first number of clients need not be 1, and the order does not matter") {
  const Usl law{.lambda_ops_s = 1000, .sigma = 0.1, .kappa = 0.01};
  const auto found = fit_usl(throughput_of(law, {40, 10, 20, 30}));
  REQUIRE(found);
  CHECK(found->lambda_ops_s == Approx(1000));
  CHECK(found->sigma == Approx(0.1));
  CHECK(found->kappa == Approx(0.01));
}

TEST_CASE("parameters are not negative, where data would have them so too") {
  // Faster than linear scaling: without bounds sigma would be negative.
  const auto super = fit_usl({{1, 100}, {2, 240}, {4, 560}, {8, 1300}});
  REQUIRE(super);
  CHECK(super->sigma == 0);
  CHECK(super->kappa == 0);
  // Linear scaling is left: the least squares of lambda n / value - 1, lambda = sum(r) / sum(r^2), r = n /
  // value.
  const double r[] = {1 / 100.0, 2 / 240.0, 4 / 560.0, 8 / 1300.0};
  CHECK(super->lambda_ops_s ==
        Approx((r[0] + r[1] + r[2] + r[3]) / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])));
}

TEST_CASE("no allowed neighbour of the solution is better") {
  std::mt19937_64 random(7);
  for (int repetition = 0; repetition < 20; ++repetition) {
    const auto unit = [&] { return static_cast<double>(random() % 1000) / 1000; };
    const Usl law{.lambda_ops_s = 1000 + 9000 * unit(), .sigma = 0.2 * unit(), .kappa = 0.002 * unit()};
    Curve noisy = throughput_of(law, {1, 2, 4, 6, 10, 20, 40, 70});
    for (auto& sample : noisy) {
      sample.value *= 0.8 + 0.4 * unit();
    }
    const auto found = fit_usl(noisy);
    REQUIRE(found);
    CHECK((found->sigma >= 0 && found->kappa >= 0));
    const double least = cost_of(*found, noisy);
    for (const double step : {-1e-3, 1e-3}) {
      const auto no_better = [&](Usl other) {
        other.sigma = std::max(other.sigma, 0.0);
        other.kappa = std::max(other.kappa, 0.0);
        CHECK(cost_of(other, noisy) >= least * (1 - 1e-9));
      };
      no_better({found->lambda_ops_s * (1 + step), found->sigma, found->kappa});
      no_better({found->lambda_ops_s, found->sigma + step, found->kappa});
      no_better({found->lambda_ops_s, found->sigma, found->kappa + step / 100});
    }
  }
}

TEST_CASE("with too few points the law has fewer parameters") {
  CHECK_FALSE(fit_usl({}));
  const auto one = fit_usl({{4, 4000}});
  REQUIRE(one);
  CHECK(one->lambda_ops_s == Approx(1000));
  CHECK(one->sigma == 0);
  CHECK(one->kappa == 0);
  const auto two = fit_usl(throughput_of({.lambda_ops_s = 1000, .sigma = 0.1, .kappa = 0}, {1, 8}));
  REQUIRE(two);
  CHECK(two->lambda_ops_s == Approx(1000));
  CHECK(two->sigma == Approx(0.1));
  CHECK(two->kappa == 0);
  const auto same = fit_usl({{4, 4000}, {4, 4000}, {4, 4000}});
  REQUIRE(same);
  CHECK(same->lambda_ops_s == Approx(1000));
}

TEST_CASE("a curve of latencies gives the law of a closed loop") {
  const Usl law{.lambda_ops_s = 30000, .sigma = 0.03, .kappa = 0.0005};
  const std::uint32_t outstanding = GENERATE(1, 4);
  Curve latency;
  for (const std::uint32_t clients : {1, 2, 4, 8, 20, 50}) {
    latency.push_back({clients, law.latency_us(clients, outstanding)});
  }
  const auto found = fit_usl_to_latency(latency, outstanding);
  REQUIRE(found);
  CHECK(found->lambda_ops_s == Approx(30000));
  CHECK(found->sigma == Approx(0.03));
  CHECK(found->kappa == Approx(0.0005));
}
