#include "calibration/simulate/curves.hpp"

#include <fmt/format.h>

#include "backends/sim/run/point_pool.hpp"
#include "backends/sim/run/windows_tell.hpp"
#include "core/error.hpp"

namespace rkv::calibration {
namespace {

constexpr double ns_in_us = 1000;
constexpr std::string_view both_ways = "throughput_both_ways_ops_s";

void check_can_be_sampled(const Scenario& scenario, const sim::Profile& profile) {
  try {
    sim::check_can_be_sampled(scenario, profile, scenario.name);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}\n--whole simulates whole runs instead", error.what()));
  }
}

double switches(const SideUsage& side, double operations) {
  return static_cast<double>(side.voluntary_switches + side.involuntary_switches) / operations;
}

}  // namespace

Place place_of(const Point& point) {
  return {.transport = point.transport,
          .completion = point.completion,
          .clients = point.clients,
          .scenario = point.scenario};
}

bool is_sampled(const Simulated& one, ScenarioSet& scenarios, const SimulationSettings& settings) {
  const Scenario& scenario = scenarios.of(one.place.transport, one.place.completion, one.place.scenario);
  const std::uint32_t clients = one.place.clients;
  return settings.sampled && sim::windows_tell(scenario, *one.profile, clients) &&
         (settings.sampled_whatever_history || !sim::history_decides(scenario, *one.profile, clients));
}

std::vector<PointResult> simulate(const std::vector<Simulated>& list, ScenarioSet& scenarios,
                                  const SimulationSettings& settings) {
  std::vector<sim::PointJob> jobs;
  for (const Simulated& one : list) {
    const Scenario& scenario = scenarios.of(one.place.transport, one.place.completion, one.place.scenario);
    sim::check_against_profile(scenario, *one.profile, scenario.name);
    sim::PointJob job;
    job.profile = one.profile;
    job.scenario = &scenario;
    job.clients = one.place.clients;
    if (is_sampled(one, scenarios, settings)) {
      check_can_be_sampled(scenario, *one.profile);
      job.sample_operations = settings.operations_a_window;
    }
    jobs.push_back(std::move(job));
  }
  sim::PointPool pool(std::move(jobs), settings.jobs, [&](const sim::PointPool::State& state) {
    return !settings.keep_on || settings.keep_on(state.done, state.of);
  });
  std::vector<PointResult> results;
  while (pool.more()) {
    PointResult result = pool.next();
    if (result.partial()) {
      const Place& place = list[results.size()].place;
      throw Error(fmt::format("{} {} with {} clients could not be simulated: {}", place.transport,
                              place.completion, place.clients, result.partial_reason));
    }
    results.push_back(std::move(result));
  }
  return results;
}

void check_metrics(const PointFile& file, ScenarioSet& scenarios) {
  for (const Point& point : file.points) {
    if (point.metric != both_ways) continue;
    const Scenario& scenario = scenarios.of(point.transport, point.completion, point.scenario);
    if (scenario.workload == Workload::verbs && scenario.verbs.both_ways) continue;
    throw InputError(
        fmt::format("{}:{}: {} is of scenarios of workload verbs with verbs.both_ways, and {} "
                    "is none; throughput_ops_s is the clients' throughput",
                    file.source, point.line, both_ways, scenario.name));
  }
}

std::optional<double> metric_of(const PointResult& point, const std::string& metric) {
  const auto operations = static_cast<double>(point.operations.total());
  if (operations == 0) return std::nullopt;
  if (metric == "throughput_ops_s") return point.throughput_ops_s();
  if (metric == both_ways) {
    if (!point.other_way) return std::nullopt;
    return point.throughput_ops_s() + point.other_way->throughput_ops_s();
  }
  if (metric == "latency_mean_us") return point.latency.mean_ns() / ns_in_us;
  for (const Percentile& percentile : percentiles()) {
    if (metric != percentile.metric) continue;
    return static_cast<double>(point.latency.quantile_ns(percentile.share_below)) / ns_in_us;
  }
  if (metric == "server_context_switches_op") return switches(point.server, operations);
  if (metric == "client_context_switches_op") return switches(point.client, operations);
  return std::nullopt;
}

}  // namespace rkv::calibration
