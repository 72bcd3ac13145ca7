#include "calibration/fit/least_squares.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/error.hpp"

using namespace rkv;
using namespace rkv::calibration;

namespace {

Parameter parameter(const std::string& path, double base, double sigma = 1, double factor = 100) {
  return {
      .path = path, .base = base, .sigma = sigma, .least = base / factor, .most = base * factor, .why = ""};
}

// A model computed for each set on its own.
template <typename Function>
Model each(Function function) {
  return [function](const std::vector<Trial>& trials) {
    std::vector<std::vector<double>> values;
    for (const Trial& trial : trials) values.push_back(function(trial.values));
    return values;
  };
}

// Latency of a station with service time p[0] behind a delay of p[1], and its rate, for 1 to 8 clients:
// asymptotic bounds of operational analysis.
std::vector<double> station(const std::vector<double>& p) {
  std::vector<double> values;
  for (int clients = 1; clients <= 8; ++clients) {
    const double latency = std::hypot(p[0] + p[1], clients * p[0]);
    values.push_back(latency);
    values.push_back(clients / latency);
  }
  return values;
}

std::vector<Target> targets_of(const std::vector<double>& values, double sigma = 0.02) {
  std::vector<Target> targets;
  for (const double value : values) targets.push_back({.measured = value, .sigma = sigma});
  return targets;
}

}  // namespace

TEST_CASE("a fit recovers the parameters that made the data") {
  const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10)};
  FitSettings settings;
  settings.most_iterations = 60;
  const Fit found = fit(parameters, targets_of(station({3, 40}), 0.001), each(station), settings);
  CHECK(found.converged);
  CHECK(found.parameters[0].value == Approx(3).epsilon(0.01));
  CHECK(found.parameters[1].value == Approx(40).epsilon(0.01));
  CHECK(found.cost < found.cost_before / 100);
  for (const FittedParameter& one : found.parameters) {
    CHECK(one.identified);
    CHECK_FALSE(one.on_bound);
    CHECK(one.like == none_changed);
  }
}

TEST_CASE("a fit takes slopes once at a place") {
  // Where a descent ends since no step gains anything, as on a surface with stairs.
  const double steps = GENERATE(2, 4, 8, 16, 32);
  const auto stairs = [&](const std::vector<double>& p) {
    std::vector<double> values = station(p);
    for (double& value : values) value = std::exp(std::round(std::log(value) * steps) / steps);
    return values;
  };
  std::vector<std::vector<Trial>> asked;
  const Model model = [&](const std::vector<Trial>& trials) {
    if (trials.size() > 1) asked.push_back(trials);
    return each(stairs)(trials);
  };
  const Fit found =
      fit({parameter("service", 1), parameter("delay", 10)}, targets_of(station({3, 40}), 0.001), model, {});
  CHECK(found.converged);
  REQUIRE(asked.size() > 2);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool same =
          std::equal(asked[i].begin(), asked[i].end(), asked[j].begin(), asked[j].end(),
                     [](const Trial& one, const Trial& other) { return one.values == other.values; });
      CHECK_FALSE(same);
    }
  }
}

TEST_CASE("a search begins with an earlier fit's values if they are better than the base profile's") {
  // Two valleys of ln service: at 0, which is the base's, and a deeper one at 3.
  const auto valleys = [](const std::vector<double>& p) {
    const double x = std::log(p[0]);
    return std::vector<double>{std::exp(std::min(0.1 + x * x / 10, (x - 3) * (x - 3)))};
  };
  const std::vector<Parameter> parameters{parameter("service", 1, 10)};
  const auto found = [&](std::vector<double> begin) {
    FitSettings settings;
    settings.begin = std::move(begin);
    return fit(parameters, targets_of({1}, 0.01), each(valleys), settings).parameters[0].value;
  };
  CHECK(found({}) == Approx(1).epsilon(0.1));
  CHECK(found({15}) == Approx(std::exp(3)).epsilon(0.1));
  CHECK(found({1.5}) == Approx(1).epsilon(0.1));
}

TEST_CASE("with noise, the intervals hold the truth about as often as they say") {
  const std::vector<Parameter> parameters{parameter("service", 2), parameter("delay", 20)};
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 0.05);
  int inside = 0;
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> values = station({3, 40});
    for (double& value : values) value *= std::exp(normal(random));
    FitSettings settings;
    settings.robust_at = 1e6;  // the noise is normal
    const Fit found = fit(parameters, targets_of(values, 0.05), each(station), settings);
    inside += found.parameters[0].low <= 3 && 3 <= found.parameters[0].high ? 1 : 0;
  }
  // 95 expected; binomial standard deviation 2.2.
  CHECK(inside >= 88);
  CHECK(inside <= 100);
}

TEST_CASE("one straggler hardly moves a robust fit") {
  const std::vector<Parameter> parameters{parameter("service", 2), parameter("delay", 20)};
  std::vector<double> values = station({3, 40});
  values[5] *= 0.5;
  const Fit found = fit(parameters, targets_of(values), each(station), {});
  CHECK(found.parameters[0].value == Approx(3).epsilon(0.05));
  CHECK(found.parameters[1].value == Approx(40).epsilon(0.05));
}

TEST_CASE("what the data can't tell stays at the base profile and is said so") {
  SECTION("a parameter without influence") {
    const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10),
                                            parameter("idle", 7, 0.5)};
    const Fit found = fit(parameters, targets_of(station({3, 40})), each(station), {});
    CHECK(found.parameters[2].value == Approx(7).epsilon(1e-6));
    CHECK(found.parameters[2].learnt == Approx(0).margin(1e-6));
    CHECK_FALSE(found.parameters[2].identified);
    CHECK(found.parameters[0].identified);
  }
  SECTION("two that only their product matters of") {
    const auto product = [](const std::vector<double>& p) { return station({p[0] * p[2], p[1]}); };
    const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10),
                                            parameter("times", 2)};
    const Fit found = fit(parameters, targets_of(station({3, 40}), 0.001), each(product), {});
    CHECK(found.parameters[0].value * found.parameters[2].value == Approx(3).epsilon(0.01));
    CHECK(found.parameters[0].like == 2);
    CHECK(found.parameters[2].like == 0);
    CHECK_FALSE(found.parameters[0].identified);
    CHECK(found.parameters[1].like == none_changed);
  }
}

TEST_CASE("a value beyond its bounds ends on the bound and is said so") {
  const std::vector<Parameter> parameters{parameter("service", 1, 10, 2), parameter("delay", 10)};
  const Fit found = fit(parameters, targets_of(station({3, 40}), 0.001), each(station), {});
  CHECK(found.parameters[0].on_bound);
  CHECK(found.parameters[0].value <= 2);
}

TEST_CASE("a Jacobian that serves for several steps saves sets of values, and leads to the same place") {
  constexpr std::size_t number = 8;
  std::size_t sets = 0;
  const Model chain = [&sets](const std::vector<Trial>& trials) {
    sets += trials.size();
    std::vector<std::vector<double>> values;
    for (const Trial& trial : trials) {
      auto& one = values.emplace_back();
      for (std::size_t i = 0; i < number; ++i) {
        one.push_back(trial.values[i] + 0.3 * trial.values[(i + 1) % number]);
        one.push_back(std::hypot(trial.values[i], trial.values[(i + 3) % number]));
      }
    }
    return values;
  };
  std::vector<Parameter> parameters;
  std::vector<double> truth;
  for (std::size_t i = 0; i < number; ++i) {
    parameters.push_back(parameter("p" + std::to_string(i), 10));
    truth.push_back(10 * std::exp(0.3 * static_cast<double>(i) - 1));
  }
  const std::vector<Target> targets = targets_of(chain({{.values = truth}}).front(), 0.01);
  std::vector<std::size_t> taken;
  for (const std::size_t corrections : {0, 6}) {
    FitSettings settings;
    settings.corrections = corrections;
    sets = 0;
    const Fit found = fit(parameters, targets, chain, settings);
    taken.push_back(sets);
    CHECK(found.converged);
    for (std::size_t i = 0; i < number; ++i) {
      CHECK(found.parameters[i].value == Approx(truth[i]).epsilon(0.02));
    }
  }
  CHECK(taken[1] < taken[0] * 2 / 3);
}

TEST_CASE("random starts find the lower of two valleys") {
  // ln p has a wrong valley near 0 and the right one near ln 20.
  const auto two_valleys = [](const std::vector<double>& p) {
    const double x = std::log(p[0]);
    return std::vector<double>{std::exp(std::min(x * x + 0.5, (x - 3) * (x - 3)))};
  };
  const std::vector<Parameter> parameters{parameter("place", 1, 2)};
  const std::vector<Target> targets{{.measured = 1, .sigma = 0.01}};
  FitSettings settings;
  CHECK(fit(parameters, targets, each(two_valleys), settings).parameters[0].value < 2);
  settings.starts = 30;
  CHECK(fit(parameters, targets, each(two_valleys), settings).parameters[0].value == Approx(20).epsilon(0.1));
}

TEST_CASE("a model that gives nothing is an error") {
  const std::vector<Parameter> parameters{parameter("service", 1)};
  const std::vector<Target> targets{{.measured = 1, .sigma = 0.01}};
  const auto nothing = [](const std::vector<double>&) { return std::vector<double>{0}; };
  CHECK_THROWS_AS(fit(parameters, targets, each(nothing), {}), Error);
}

TEST_CASE("a fit finds its way over a rough surface") {
  // On every value lie ripples of 1 %, too short to lead anywhere: of ln p they are 0.03 to 0.3 long.
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> phase(0, 6.28);
  std::uniform_real_distribution<double> per_log(20, 200);
  const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10)};
  int found = 0;
  constexpr int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::array<double, 4>> ripples(station({3, 40}).size());
    for (auto& ripple : ripples) ripple = {phase(random), per_log(random), phase(random), per_log(random)};
    const auto rough = [&](const std::vector<double>& p) {
      std::vector<double> values = station(p);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& [phase_0, per_log_0, phase_1, per_log_1] = ripples[i];
        values[i] *= std::exp(0.01 * (std::sin(phase_0 + per_log_0 * std::log(p[0])) +
                                      std::sin(phase_1 + per_log_1 * std::log(p[1]))));
      }
      return values;
    };
    FitSettings settings;
    settings.enough = 0.01;
    std::vector<bool> taken(settings.steps.size());  // slopes over these distances
    const Model watched = [&](const std::vector<Trial>& trials) {
      for (const Trial& trial : trials) {
        if (trial.changed == none_changed) continue;
        const double distance =
            std::abs(std::log(trial.values[trial.changed] / trials.front().values[trial.changed]));
        for (std::size_t i = 0; i < taken.size(); ++i) {
          if (distance == Approx(settings.steps[i])) taken[i] = true;
        }
      }
      return each(rough)(trials);
    };
    const Fit one = fit(parameters, targets_of(station({3, 40})), watched, settings);
    CHECK(one.converged);
    CHECK(taken == std::vector<bool>{true, true});
    const bool near = std::abs(std::log(one.parameters[0].value / 3)) < 0.1 &&
                      std::abs(std::log(one.parameters[1].value / 40)) < 0.1;
    found += near ? 1 : 0;
  }
  CHECK(found >= rounds - 2);
}

TEST_CASE("slopes serve nearby, on a rough surface no worse than new ones would") {
  // Every value has a ripple of 1 %, 0.6 to 1.6 long of the logarithm of a parameter.
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> phase(0, 6.28);
  std::uniform_real_distribution<double> per_log(4, 10);
  const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10)};
  constexpr double near = 0.2;
  std::size_t taken = 0, taken_anew = 0;
  double cost = 0, cost_anew = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::array<double, 2>> ripples(station({3, 40}).size());
    for (auto& ripple : ripples) ripple = {phase(random), per_log(random)};
    const auto rough = [&](const std::vector<double>& p) {
      std::vector<double> values = station(p);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] *= 1 + 0.01 * std::sin(ripples[i][0] + ripples[i][1] * std::log(p[i % 2]));
      }
      return values;
    };
    std::vector<std::vector<double>> places;  // where slopes were taken
    const Model watched = [&](const std::vector<Trial>& trials) {
      if (trials.size() > 1) places.push_back(trials.front().values);
      return each(rough)(trials);
    };
    FitSettings settings;
    settings.steps = {0.2};
    settings.enough = 0.03;
    const Fit anew = fit(parameters, targets_of(station({3, 40})), watched, settings);
    taken_anew += places.size();
    cost_anew += anew.cost;
    places.clear();
    settings.slopes_serve_within = near;
    const Fit found = fit(parameters, targets_of(station({3, 40})), watched, settings);
    taken += places.size();
    cost += found.cost;
    CHECK(found.converged);
    for (std::size_t i = 1; i < places.size(); ++i) {
      CHECK(std::max(std::abs(std::log(places[i][0] / places[i - 1][0])),
                     std::abs(std::log(places[i][1] / places[i - 1][1]))) >= near);
    }
    // What is said of the end is of the end, though its slopes need not be.
    const std::vector<double> there = rough({found.parameters[0].value, found.parameters[1].value});
    for (std::size_t i = 0; i < there.size(); ++i) CHECK(found.modelled[i] == Approx(there[i]).epsilon(1e-9));
  }
  CHECK(5 * taken < 4 * taken_anew);
  CHECK(cost < 1.1 * cost_anew);
}

TEST_CASE("a rough surface doesn't lead away what the data can't tell") {
  // A parameter that only ripples every value, by 0.5 %.
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> phase(0, 6.28);
  std::uniform_real_distribution<double> per_log(2, 8);
  std::array<double, 16> begins{}, fast{};
  for (double& one : begins) one = phase(random);
  for (double& one : fast) one = per_log(random);
  const auto rippled = [&](const std::vector<double>& p) {
    std::vector<double> values = station(p);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= 1 + 0.005 * std::sin(begins[i] + fast[i] * std::log(p[2]));
    }
    return values;
  };
  const std::vector<Parameter> parameters{parameter("service", 1), parameter("delay", 10),
                                          parameter("idle", 7, 0.5)};
  const Fit found = fit(parameters, targets_of(station({3, 40}), 0.04), each(rippled), {});
  CHECK(found.converged);
  CHECK_FALSE(found.parameters[2].identified);
  CHECK(found.parameters[2].value == Approx(7).epsilon(1e-6));
  CHECK(found.parameters[0].value == Approx(3).epsilon(0.03));
  CHECK(found.parameters[1].value == Approx(40).epsilon(0.06));
}
