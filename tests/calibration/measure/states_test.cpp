#include "calibration/measure/states.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "calibration/measure/probe.hpp"

using rkv::calibration::Bench;
using rkv::calibration::Probe;
using rkv::calibration::run_probes;
using rkv::calibration::Samples;
using rkv::calibration::Selection;
using rkv::calibration::states_of;

namespace {

std::vector<double> drawn(std::size_t count, double median, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> law(std::log(median), spread);
  std::vector<double> values(count);
  for (double& value : values) value = law(random);
  return values;
}

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::shuffle(a.begin(), a.end(), std::mt19937(1));
  return a;
}

// Takes what the machine's state makes of it.
class StateProbe final : public Probe {
 public:
  StateProbe(const double& state, unsigned every) : state_(state), every_(every) {}
  [[nodiscard]] std::string_view name() const override { return "state"; }
  [[nodiscard]] unsigned every() const override { return every_; }
  void repeat(Samples& samples) override { samples.add("taken in", state_); }

 private:
  const double& state_;
  unsigned every_;
};

// The state before the first and after each of the rounds' only repetition, as given, then the last one.
struct Machine {
  std::vector<double> states;
  std::size_t next = 0;
  double now = 0;
  double operator()() { return now = states[std::min(next++, states.size() - 1)]; }
};

Selection run(Machine& machine, unsigned rounds, Samples& samples, unsigned every = 1) {
  Bench bench{.machine = {}, .effort = {.rounds = rounds}, .stop = [] { return false; }};
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<StateProbe>(machine.now, every));
  return run_probes(
      probes, bench, [&machine] { return machine(); }, samples, [](double, std::string_view) {});
}

}  // namespace

TEST_CASE("values of one kind are one state, however they are spread", "[calibration]") {
  CHECK_FALSE(states_of(drawn(400, 5000, 0.1, 1)));
  CHECK_FALSE(states_of(std::vector<double>(50, 7.0)));
  CHECK_FALSE(states_of({}));
}

TEST_CASE("a few disturbed values make no state", "[calibration]") {
  std::vector<double> values = drawn(400, 5000, 0.05, 2);
  for (std::size_t i = 0; i < 10; ++i) values[i * 40] = 100'000;
  CHECK_FALSE(states_of(values));
}

TEST_CASE("two states are told apart by their medians, and the fast one is kept if it is not rare",
          "[calibration]") {
  for (const std::size_t fast : {40U, 200U, 360U}) {
    const auto states = states_of(joined(drawn(fast, 5000, 0.05, 3), drawn(400 - fast, 11'000, 0.05, 4)));
    REQUIRE(states);
    CHECK(states->fast == Approx(5000).epsilon(0.03));
    CHECK(states->slow == Approx(11'000).epsilon(0.03));
    CHECK(states->fast_count == fast);
    CHECK(states->slow_count == 400 - fast);
    CHECK(states->limit > 6000);
    CHECK(states->limit < 10'000);
    CHECK(states->keeps_fast() == (fast >= 100));
    CHECK(states->keeps(5000) == (fast >= 100));
    CHECK(states->keeps(11'000) == (fast < 100));
  }
}

TEST_CASE("samples are those that began and ended in the state that is kept", "[calibration]") {
  // Before, between and after ten repetitions: four change, or were slow.
  Machine machine{{5, 5, 12, 12, 12, 5, 5, 5, 5, 5, 5}};
  Samples samples;
  const Selection selection = run(machine, 10, samples);
  REQUIRE(selection.states);
  CHECK(selection.repetitions == 10);
  CHECK(selection.kept == 6);
  CHECK(samples.values("taken in") == std::vector<double>(6, 5));
}

TEST_CASE("a probe that had less than half of its repetitions in the state has more", "[calibration]") {
  std::vector<double> states(12, 12);  // the first twelve repetitions of twenty begin slow
  states.resize(80, 5);
  Machine machine{states};
  Samples samples;
  const Selection selection = run(machine, 20, samples);
  CHECK(selection.repetitions == 22);  // eight, and two more: half of twenty
  CHECK(selection.kept == 10);
  CHECK(samples.values("taken in").size() == 10);
}

TEST_CASE("a machine of one state keeps all repetitions and has no more of them", "[calibration]") {
  Machine machine{{5}};
  Samples samples;
  const Selection selection = run(machine, 12, samples, 3);
  CHECK_FALSE(selection.states);
  CHECK(selection.repetitions == 4);
  CHECK(selection.kept == 4);
  CHECK(samples.values("taken in").size() == 4);
}
