// Points estimated from windows against the same points simulated whole. All of it is repeatable, so limits
// can be close without a test that fails now and then.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "backends/sim/run/sample_point.hpp"
#include "core/error.hpp"
#include "core/report/exchange.hpp"
#include "tests/sim/run/thesis_run.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;

[[maybe_unused]] void require_close(double sampled, double whole, double part) {
  INFO("sampled " << sampled << ", whole " << whole);
  REQUIRE(sampled == Approx(whole).epsilon(part));
}

#ifndef RKV_ADDRESS_SANITIZER  // how close it is needs whole points; bad memory accesses show in the others
TEST_CASE("a sampled point is close to the whole one", "[sampling]") {
  const auto [transport, mode] = GENERATE(std::pair{Transport::uc, CompletionMode::busy},
                                          std::pair{Transport::tcp, CompletionMode::event});
  const std::uint32_t clients = GENERATE(1U, 5U);
  CAPTURE(static_cast<int>(transport), clients);
  const Profile profile;
  const Scenario scenario = thesis_run(transport, mode);
  const PointResult whole = simulate_point(profile, scenario, clients, {}).result;
  const PointResult sampled = sample_point(profile, scenario, clients, {});
  // Whose thread shares a CPU with the interrupts, and is the last to end, changes in a run.
  const double stragglers = mode == CompletionMode::event && clients > 1 ? 0.04 : 0.015;
  require_close(sampled.throughput_ops_s(), whole.throughput_ops_s(), stragglers);
  require_close(sampled.latency.mean_ns(), whole.latency.mean_ns(), 0.015);
  require_close(static_cast<double>(sampled.latency.quantile_ns(0.5)),
                static_cast<double>(whole.latency.quantile_ns(0.5)), 0.05);
  require_close(static_cast<double>(sampled.latency.quantile_ns(0.95)),
                static_cast<double>(whole.latency.quantile_ns(0.95)), 0.05);
  require_close(static_cast<double>(sampled.server_work.entries_walked),
                static_cast<double>(whole.server_work.entries_walked), 0.15);
  require_close(static_cast<double>(sampled.server_work.store_entries),
                static_cast<double>(whole.server_work.store_entries), 0.05);
  if (mode == CompletionMode::event) {
    require_close(static_cast<double>(sampled.client.voluntary_switches),
                  static_cast<double>(whole.client.voluntary_switches), 0.02);
    require_close(static_cast<double>(sampled.server.voluntary_switches),
                  static_cast<double>(whole.server.voluntary_switches), 0.02);
  }
  REQUIRE(sampled.operations.total() == whole.operations.total());
  REQUIRE(sampled.latency.count() == whole.operations.total());
  REQUIRE(sampled.per_client.size() == clients);
  REQUIRE(sampled.server.threads == whole.server.threads);
  REQUIRE(sampled.client.threads == whole.client.threads);
  REQUIRE(sampled.sampling);
  REQUIRE(sampled.sampling->windows > 1);
  REQUIRE_FALSE(whole.sampling);
}

TEST_CASE("a window is of the stage in the middle of what it measures, however long it is", "[sampling]") {
  Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 400'000;
  scenario.load.start_stagger = 2ms;
  scenario.store.buckets = 128;
  SampleOptions twentieths;
  twentieths.operations_a_window = 20'000;
  double whole_ns = 0;
  double sampled_ns = 0;
  for (const auto& [clients, seed] :
       {std::pair{1U, 1U}, {1U, 2U}, {2U, 1U}, {2U, 2U}, {4U, 1U}, {4U, 2U}, {8U, 1U}, {8U, 2U}}) {
    scenario.seed = seed;
    whole_ns += simulate_point({}, scenario, clients, {}).result.latency.mean_ns();
    sampled_ns += sample_point({}, scenario, clients, twentieths).latency.mean_ns();
  }
  require_close(sampled_ns, whole_ns, 0.0015);
}

// The keys of some clients fall into longer chains than those of others, and all that an operation costs here
// is walking them. Windows are too short to tell that from chance.
TEST_CASE("a sampled client is as slow as its chains are long", "[sampling]") {
  Profile profile;
  profile.server.memory.walk = {{32'768, ms / 1000}};
  Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  scenario.load.start_stagger = 0ms;
  scenario.store.buckets = 1024;
  SampleOptions short_windows;
  short_windows.operations_a_window = 300;
  const PointResult whole = simulate_point(profile, scenario, 4, {}).result;
  const PointResult sampled = sample_point(profile, scenario, 4, short_windows);
  for (std::size_t client = 0; client < 4; ++client) {
    CAPTURE(client);
    require_close(sampled.per_client[client].latency_mean_ns / sampled.latency.mean_ns(),
                  whole.per_client[client].latency_mean_ns / whole.latency.mean_ns(), 0.01);
  }
}

// Up to half of the run all wait for the server's card, then for the walks.
TEST_CASE("a sampled run whose bottleneck changes half-way is as fast as the whole one", "[sampling]") {
  Profile profile;
  profile.nic.processing_units = 1;
  profile.nic.uc.receive = ms / 1000;
  Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 400'000;
  scenario.load.start_stagger = 1ms;
  const PointResult whole = simulate_point(profile, scenario, 6, {}).result;
  const PointResult sampled = sample_point(profile, scenario, 6, {});
  require_close(sampled.throughput_ops_s(), whole.throughput_ops_s(), 0.005);
  require_close(sampled.latency.mean_ns(), whole.latency.mean_ns(), 0.005);
}

// Three on two CPUs of a socket each: who has a CPU for itself changes once in 20 ms.
TEST_CASE("where polling threads take turns, no client is lucky for all of a sampled run", "[sampling]") {
  Profile profile = with_cpus(2, 1, 1);
  for (HostProfile* host : {&profile.server, &profile.client}) host->scheduler.numa_balancing = 20 * ms;
  Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 200'000;
  scenario.store.buckets = 64;
  struct Sums {
    double throughput_ops_s = 0;
    double latency_ns = 0;
    void add(const PointResult& point) {
      throughput_ops_s += point.throughput_ops_s();
      latency_ns += point.latency.mean_ns();
    }
  };
  Sums whole;
  Sums sampled;
  for (scenario.seed = 1; scenario.seed <= 4; ++scenario.seed) {
    whole.add(simulate_point(profile, scenario, 3, {}).result);
    sampled.add(sample_point(profile, scenario, 3, {}));
  }
  require_close(sampled.throughput_ops_s, whole.throughput_ops_s, 0.1);
  require_close(sampled.latency_ns, whole.latency_ns, 0.1);
}
#endif

TEST_CASE("a sampled point is the same each time, and another with another seed", "[sampling]") {
  const Profile profile;
  Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  scenario.load.total_operations = 20'000;
  const auto outcome = [&](bool single_steps) {
    SampleOptions options;
    options.simulation.single_steps = single_steps;
    options.operations_a_window = 500;
    return to_json(sample_point(profile, scenario, 3, options)).dump();
  };
  const std::string first = outcome(false);
  CHECK(outcome(false) == first);
  CHECK(outcome(true) == first);
  scenario.seed = 2;
  CHECK(outcome(false) != first);
}

TEST_CASE("what can't be sampled is refused, all at once and by its place", "[sampling]") {
  const Scenario good = thesis_run(Transport::uc, CompletionMode::busy);
  CHECK_NOTHROW(check_can_be_sampled(good, {}, "file"));
  const auto refused = [&](const char* pointer, auto&& change) {
    Scenario scenario = good;
    change(scenario);
    CAPTURE(pointer);
    CHECK_THROWS_AS(check_can_be_sampled(scenario, {}, "file"), InputError);
    CHECK_THROWS_WITH(check_can_be_sampled(scenario, {}, "file"),
                      Catch::StartsWith("file: ") && Catch::Contains(pointer));
    CHECK_THROWS_AS(sample_point({}, scenario, 1, {}), InputError);
  };
  refused("/exchange", [](Scenario& s) { s.workload = Workload::verbs; });
  refused("/load/arrivals/kind", [](Scenario& s) { s.load.arrivals = {Arrivals::Kind::constant, 100}; });
  refused("/load/total_operations", [](Scenario& s) { s.load.total_operations = 0; });
  refused("/load/window", [](Scenario& s) { s.load.window = 2; });
  refused("/load/turns/clients", [](Scenario& s) { s.load.turns.clients = 1; });
  refused("/load/warm_up_operations", [](Scenario& s) { s.load.warm_up_operations = 1; });
  refused("/load/warm_up_s", [](Scenario& s) { s.load.warm_up = 1s; });
  refused("/keys/distribution", [](Scenario& s) { s.keys.distribution = KeyOptions::Distribution::zipf; });
  refused("/store/kind", [](Scenario& s) { s.store.kind = StoreOptions::Kind::cuckoo; });
  refused("/check", [](Scenario& s) { s.check = true; });
  refused("/trace", [](Scenario& s) { s.trace = true; });
  Profile lossy;
  lossy.name = "wet string";
  lossy.network.loss = 0.01;
  CHECK_THROWS_WITH(check_can_be_sampled(good, lossy, "file"), Catch::Contains("wet string"));
}

TEST_CASE("a sampled point can be ended early", "[sampling]") {
  const Scenario scenario = thesis_run(Transport::uc, CompletionMode::busy);
  int calls = 0;
  SampleOptions options;
  options.keep_on = [&](Ps, std::uint64_t operations) {
    CHECK(operations > 0);
    return ++calls < 2;
  };
  const PointResult result = sample_point({}, scenario, 2, options);
  CHECK(calls == 2);
  CHECK(result.partial());
  CHECK(result.clients == 2);
}

}  // namespace
}  // namespace rkv::sim::test
