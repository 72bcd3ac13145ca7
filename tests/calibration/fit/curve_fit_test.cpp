#include "calibration/fit/curve_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/sim/profile/load.hpp"
#include "core/error.hpp"

using namespace rkv;
using namespace rkv::calibration;

namespace {

Point point(std::uint32_t clients, const std::string& metric, double value) {
  Point made;
  made.transport = "uc";
  made.completion = "busy";
  made.clients = clients;
  made.metric = metric;
  made.value = value;
  return made;
}

const std::filesystem::path root = RKV_ROOT;

std::vector<std::string> short_run(int operations) {
  return {"load.total_operations=" + std::to_string(operations), "load.connect_pause_ms=0",
          "load.start_stagger_ms=0"};
}

SimulationSettings whole_runs() {
  SimulationSettings settings;
  settings.sampled = false;
  return settings;
}

}  // namespace

TEST_CASE("a fit takes what a closed loop can have, with a weight for each metric") {
  PointFile file;
  // One client at 30000 ops/s has 33.3 us an operation, less than the latency of 40 us.
  file.points = {point(1, "throughput_ops_s", 30000), point(1, "latency_mean_us", 40),
                 point(2, "throughput_ops_s", 40000), point(2, "latency_mean_us", 45),
                 point(4, "latency_p99_us", 90),      point(16, "latency_mean_us", 80)};
  file.points[3].spread = 45 * 0.03;
  const FitPoints chosen = choose(file, {.most_clients = 15, .clients = {}});
  REQUIRE(chosen.points.size() == 3);
  CHECK(chosen.targets[0].measured == 40000);
  CHECK(chosen.targets[0].sigma == Approx(0.04));
  CHECK(chosen.targets[1].sigma == Approx(std::hypot(0.02, 0.03)));
  CHECK(chosen.targets[2].sigma == Approx(0.1));
  REQUIRE(chosen.left_out.size() == 3);
  CHECK_THAT(chosen.left_out[0].why, Catch::Contains("closed loop"));
  CHECK_THAT(chosen.left_out[2].why, Catch::Contains("15 clients"));
  const FitPoints by_spread = choose(file, {.most_clients = 15, .clients = {}, .model_error = 0.01});
  CHECK(by_spread.targets[0].sigma == Approx(0.01));
  CHECK(by_spread.targets[1].sigma == Approx(std::hypot(0.01, 0.03)));
  const FitPoints by_metric =
      choose(file, {.most_clients = 15, .clients = {}, .model_error_of = {{"latency_mean_us", 0.04}}});
  CHECK(by_metric.targets[0].sigma == chosen.targets[0].sigma);
  CHECK(by_metric.targets[1].sigma == Approx(0.05));
  CHECK(choose(file, {.most_clients = 64, .clients = {16}}).points.size() == 1);
  CHECK_THROWS_AS(choose(file, {.most_clients = 64, .clients = {3}}), InputError);
}

TEST_CASE("scenarios are found by transport and completion") {
  ScenarioSet scenarios(root / "scenarios");
  CHECK(scenarios.of("uc", "busy").name == "uc_nonblocking");
  CHECK(scenarios.of("uc", "event").name == "uc_blocking");
  CHECK(scenarios.of("tcp", "event").name == "tcp_blocking");
  CHECK(scenarios.of("rc", "adaptive").name == "rc_adaptive");
  CHECK_THROWS_WITH(scenarios.of("ud", "adaptive"), Catch::Contains("ud_adaptive.json is missing"));
  CHECK_THROWS_AS(ScenarioSet(root / "nowhere"), InputError);
}

TEST_CASE("a point may name its scenario, with other values") {
  ScenarioSet scenarios(root / "scenarios", {"load.warm_up_s=0"});
  const Scenario& one = scenarios.of("rc", "busy", "rc_random_reads load.window=8 verbs.queue_pairs=50");
  CHECK(one.load.window == 8);
  CHECK(one.verbs.queue_pairs == 50);
  CHECK(one.load.warm_up.count() == 0);
  CHECK(&scenarios.of("rc", "busy", "rc_random_reads load.window=8 verbs.queue_pairs=50") == &one);
  CHECK(scenarios.of("rc", "busy", "rc_random_reads").load.window == 32);
  using Catch::Contains;
  CHECK_THROWS_WITH(scenarios.of("rc", "busy", "rc_reeds"), Contains("rc_reeds.json"));
  CHECK_THROWS_WITH(scenarios.of("rc", "busy", "../scenarios/rc_random_reads"), Contains("there is no"));
  CHECK_THROWS_WITH(scenarios.of("uc", "busy", "rc_random_reads"), Contains("is over rc"));
  CHECK_THROWS_WITH(scenarios.of("rc", "busy", "rc_random_reads load.windows=8"), Contains("load.windows"));
}

TEST_CASE("a fit to simulated curves finds the values they were simulated with") {
  const nlohmann::json base = sim::to_json(sim::load_profile(
      root / "calibration/profiles/das5.json",
      // Clients do not wait for each other, so that all depends smoothly on everything.
      {"hosts.program.client_serial_ns=0", "hosts.memory.lock_ns=0", "hosts.memory.lock_hand_over_ns=0"}));
  ScenarioSet scenarios(root / "scenarios", short_run(300));
  const SimulationSettings settings = whole_runs();
  const auto parameters =
      named_parameters({"hosts.program.server_operation_ns", "nic.pcie_latency_ns", "nic.rc.ack_ns"}, base);
  std::vector<Point> points;
  for (const std::uint32_t clients : {1, 3}) {
    points.push_back(point(clients, "latency_mean_us", 1));
    points.push_back(point(clients, "throughput_ops_s", 1));
  }
  CurveModel model(base, parameters, points, scenarios, settings);
  // Of RC's acknowledgements UC's curves know nothing.
  const std::vector<double> truth{parameters[0].base * 3, parameters[1].base * 0.6, parameters[2].base};
  const std::vector<double> curves = model({{.values = truth}}).front();
  std::vector<Target> targets;
  for (const double value : curves) targets.push_back({.measured = value, .sigma = 0.001});
  const Fit found = fit(parameters, targets, std::ref(model), {});
  CHECK(found.converged);
  for (std::size_t i = 0; i < curves.size(); ++i)
    CHECK(found.modelled[i] == Approx(curves[i]).epsilon(0.002));
  CHECK(found.parameters[2].value == Approx(truth[2]));
  CHECK_FALSE(found.parameters[2].identified);
  CHECK(found.parameters[2].learnt == Approx(0).margin(1e-9));
  // Both add to every operation's latency; what they make together is certain, each alone is not. The
  // server's work is done once an operation, PCIe is passed several times.
  CHECK(found.parameters[0].like == 1);
  CHECK_FALSE(found.parameters[0].identified);
}

TEST_CASE("what was simulated before is not simulated again") {
  const nlohmann::json base = sim::to_json(sim::load_profile(root / "calibration/profiles/das5.json"));
  ScenarioSet scenarios(root / "scenarios", short_run(100));
  const SimulationSettings settings = whole_runs();
  const auto parameters = named_parameters({"nic.rc.send_ns", "nic.uc.send_ns"}, base);
  const std::vector<Point> points{point(1, "latency_mean_us", 1), point(1, "throughput_ops_s", 1)};
  CurveModel model(base, parameters, points, scenarios, settings);
  const std::vector<double> values{parameters[0].base, parameters[1].base};
  const auto first = model({{.values = values}});
  CHECK(model.simulations() == 1);  // one place gives both metrics
  const std::vector<double> other_rc{values[0] * 2, values[1]};
  const std::vector<double> other_uc{values[0], values[1] * 2};
  const auto both =
      model({{.values = values}, {.values = other_rc, .changed = 0}, {.values = other_uc, .changed = 1}});
  CHECK(model.simulations() == 2);
  CHECK(both[0] == first[0]);
  CHECK(both[1] == first[0]);
  CHECK(both[2] != first[0]);
}

TEST_CASE("curves of one program under two names are simulated once") {
  const nlohmann::json base = sim::to_json(sim::load_profile(root / "calibration/profiles/das5.json"));
  ScenarioSet scenarios(root / "scenarios", short_run(100));
  const SimulationSettings settings = whole_runs();
  const auto of = [](const std::string& transport, const std::string& completion) {
    Point one = point(1, "latency_mean_us", 1);
    one.transport = transport;
    one.completion = completion;
    return one;
  };
  const auto parameters = named_parameters({"tcp.send_ns"}, base);
  const std::vector<Point> points{of("tcp", "busy"), of("tcp", "event"), of("uc", "busy"), of("uc", "event")};
  CurveModel model(base, parameters, points, scenarios, settings);
  const auto values = model({{.values = {parameters[0].base}}}).front();
  CHECK(model.simulations() == 3);
  CHECK(values[0] == values[1]);
  CHECK(values[2] != values[3]);
}

TEST_CASE(
    "a point is sampled, but one whose threads share CPUs, or poll and share cores, is simulated whole") {
  const sim::Profile profile =
      sim::load_profile(root / "calibration/profiles/das5.json",
                        {"hosts.cpu.sockets=1", "hosts.cpu.cores_per_socket=1", "hosts.cpu.smt_ways=2"});
  ScenarioSet scenarios(root / "scenarios", short_run(300));
  const std::vector<PointResult> points =
      simulate({{.profile = &profile, .place = {.transport = "uc", .completion = "busy", .clients = 1}},
                {.profile = &profile, .place = {.transport = "uc", .completion = "busy", .clients = 2}},
                {.profile = &profile, .place = {.transport = "uc", .completion = "event", .clients = 2}},
                {.profile = &profile, .place = {.transport = "uc", .completion = "event", .clients = 3}},
                {.profile = &profile, .place = {.transport = "tcp", .completion = "busy", .clients = 2}},
                {.profile = &profile, .place = {.transport = "tcp", .completion = "busy", .clients = 3}}},
               scenarios, {});
  REQUIRE(points.size() == 6);
  CHECK(points[0].sampling);
  CHECK_FALSE(points[1].sampling);
  CHECK(points[2].sampling);
  CHECK_FALSE(points[3].sampling);
  CHECK(points[4].sampling);
  CHECK_FALSE(points[5].sampling);
}

TEST_CASE("a model knows whether its points are samples") {
  const nlohmann::json base = sim::to_json(sim::load_profile(root / "calibration/profiles/das5.json"));
  const auto parameters = named_parameters({"nic.rc.send_ns"}, base);
  const auto samples = [&](const std::string& scenario, const SimulationSettings& settings) {
    ScenarioSet scenarios(root / "scenarios");
    std::vector<Point> points{point(1, "throughput_ops_s", 1)};
    points.front().transport = "rc";
    points.front().scenario = scenario;
    return CurveModel(base, parameters, points, scenarios, settings).samples();
  };
  CHECK(samples("rc_nonblocking", {}));
  CHECK_FALSE(samples("rc_nonblocking", whole_runs()));
  CHECK_FALSE(samples("rc_random_reads", {}));  // no stages to take windows of
}

TEST_CASE("what history decides is for whole runs, but where it is asked to be sampled") {
  const sim::Profile profile = sim::load_profile(root / "calibration/profiles/das5.json", {});
  ScenarioSet scenarios(root / "scenarios", {});
  const Simulated five{.profile = &profile,
                       .place = {.transport = "uc", .completion = "event", .clients = 5}};
  SimulationSettings settings;
  CHECK_FALSE(is_sampled(five, scenarios, settings));
  settings.sampled_whatever_history = true;
  CHECK(is_sampled(five, scenarios, settings));
}

TEST_CASE("threads share CPUs when all are on one host, or bound to few of its CPUs") {
  const sim::Profile apart =
      sim::load_profile(root / "calibration/profiles/das5.json",
                        {"hosts.cpu.sockets=1", "hosts.cpu.cores_per_socket=4", "hosts.cpu.smt_ways=1"});
  sim::Profile together = apart;
  together.network.one_host = true;
  const auto sampled = [](const sim::Profile& profile, std::uint32_t clients, const std::string& cores) {
    std::vector<std::string> overrides = short_run(300);
    if (!cores.empty()) {
      overrides.push_back("server.cores=" + cores);
      overrides.push_back("client.cores=" + cores);
    }
    ScenarioSet scenarios(root / "scenarios", overrides);
    const Place place{.transport = "uc", .completion = "busy", .clients = clients};
    return simulate({{.profile = &profile, .place = place}}, scenarios, {}).front().sampling.has_value();
  };
  CHECK(sampled(apart, 4, ""));
  CHECK(sampled(apart, 2, "[0, 1]"));
  CHECK_FALSE(sampled(apart, 3, "[0, 1]"));
  CHECK(sampled(together, 2, ""));
  CHECK_FALSE(sampled(together, 3, ""));
  CHECK(sampled(together, 1, "[0, 1]"));
  CHECK_FALSE(sampled(together, 1, "[0]"));
}
