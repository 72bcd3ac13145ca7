#include "backends/sim/run/sample_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/sim/run/cycle_times.hpp"
#include "core/document/problems.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv::sim {
namespace {

// A step of the integration: of all operations at most this part.
constexpr double largest_step = 1.0 / 400;
// Passes over the run, of which each has windows where the one before went. Two or three do.
constexpr int most_passes = 6;
// Latencies of so many operations, and more, are scaled by one factor.
constexpr double operations_a_factor = 1.0 / 200;

// What was done in one stretch of the run, by the window that it is like.
struct Stretch {
  const SampledWindow* window = nullptr;
  double operations = 0;
  double latency_ns = 0;  // summed up over them
};

// A side's context switches and CPU time.
struct SideSum {
  double voluntary_switches = 0;
  double involuntary_switches = 0;
  double cpu_time_ps = 0;

  void add(const SideActivity& activity, double factor_of_operations, double factor_of_time) {
    voluntary_switches += factor_of_operations * static_cast<double>(activity.voluntary_switches);
    involuntary_switches += factor_of_time * static_cast<double>(activity.involuntary_switches);
    cpu_time_ps += factor_of_time * static_cast<double>(activity.cpu_time);
  }
};

// One pass over the run.
class Integration {
 public:
  Integration(const Scenario& scenario, std::uint32_t clients, CycleTimes& cycle_times, RunSoFar& run)
      : scenario_(scenario),
        cycle_times_(cycle_times),
        run_(run),
        stagger_s_(std::chrono::duration<double>(scenario.load.start_stagger).count()),
        done_(clients),
        ended_s_(clients),
        latency_sum_ns_(clients) {
    run_.forget();
    for (std::uint32_t client = 0; client < clients; ++client) {
      quota_.push_back(static_cast<double>(share_of(scenario.load.total_operations, client, clients)));
    }
    while (step()) {
    }
    for (auto& [window, stretch] : open_) stretches_.push_back(stretch);
  }

  [[nodiscard]] PointResult result() const;

 private:
  [[nodiscard]] double begins_s(std::size_t client) const { return static_cast<double>(client) * stagger_s_; }
  // False when all is done.
  bool step();
  void account(const CycleTime& time, double all, double active, double rate, double seconds);
  void fill_latency(Histogram& latency) const;
  void fill_counts(PointResult& result) const;
  void fill_sides(PointResult& result) const;

  const Scenario& scenario_;
  CycleTimes& cycle_times_;
  RunSoFar& run_;
  const double stagger_s_;
  std::vector<double> quota_;
  std::vector<double> done_;
  std::vector<double> ended_s_;
  std::vector<double> latency_sum_ns_;  // a client each
  double now_s_ = 0;
  double entries_walked_ = 0;
  SideSum server_, client_;
  const SampledWindow* first_ = nullptr;
  std::map<const SampledWindow*, std::size_t> order_;  // in which windows came into use
  std::map<std::size_t, Stretch> open_;                // by that order
  std::vector<Stretch> stretches_;
};

bool Integration::step() {
  std::vector<std::uint32_t> active;
  double next_begin_s = HUGE_VAL;
  for (std::uint32_t client = 0; client < done_.size(); ++client) {
    if (done_[client] >= quota_[client]) continue;
    if (begins_s(client) <= now_s_) {
      active.push_back(client);
    } else {
      next_begin_s = std::min(next_begin_s, begins_s(client));
    }
  }
  if (active.empty()) {
    if (next_begin_s == HUGE_VAL) return false;
    now_s_ = next_begin_s;
    return true;
  }
  const double all = std::accumulate(done_.begin(), done_.end(), 0.0);
  const double largest = std::max(1.0, largest_step * static_cast<double>(scenario_.load.total_operations));
  // The middle of the step stands for it.
  const CycleTime time = cycle_times_.at(active, all + largest / 2, now_s_);
  std::vector<double> rates = cycle_times_.speeds(active, time, now_s_);
  for (double& rate : rates) rate *= ns_in_s / time.cycle_ns;  // operations a second
  const double rate = std::accumulate(rates.begin(), rates.end(), 0.0);
  double seconds =
      std::min({largest / rate, next_begin_s - now_s_, cycle_times_.speeds_last_s(now_s_) - now_s_});
  for (std::size_t i = 0; i < active.size(); ++i) {
    seconds = std::min(seconds, (quota_[active[i]] - done_[active[i]]) / rates[i]);
  }
  now_s_ += seconds;
  if (now_s_ + 1e-12 >= next_begin_s) now_s_ = next_begin_s;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const std::uint32_t client = active[i];
    const double rest = quota_[client] - done_[client];
    double operations = rates[i] * seconds;
    if (operations >= rest * (1 - 1e-9)) {
      operations = rest;
      ended_s_[client] = now_s_;
      done_[client] = quota_[client];
    } else {
      done_[client] += operations;
    }
    latency_sum_ns_[client] += operations * std::max(0.0, ns_in_s / rates[i] - time.between_ns);
  }
  account(time, all, static_cast<double>(active.size()), rate, seconds);
  cycle_times_.done(time, rate * seconds);
  run_.add(done_);
  return true;
}

void Integration::account(const CycleTime& time, double all, double active, double rate, double seconds) {
  const double operations = rate * seconds;
  // Little's law: all clients together spend `active` seconds a second in their cycles.
  const double latency_ns = std::max(0.0, active / rate * ns_in_s - time.between_ns);
  const double enough = operations_a_factor * static_cast<double>(scenario_.load.total_operations);
  double entries_walked = 0;  // an operation, in windows at this stage on average
  double at_operations = 0;
  for (const CycleTime::Part& part : time.parts) {
    if (first_ == nullptr) first_ = part.window;
    entries_walked += part.weight * part.window->entries_walked;
    at_operations += part.weight * part.window->all_operations;
    Stretch& stretch = open_[order_.emplace(part.window, order_.size()).first->second];
    stretch.window = part.window;
    stretch.operations += part.weight * operations;
    stretch.latency_ns += part.weight * operations * latency_ns;
    if (stretch.operations >= enough) stretches_.push_back(std::exchange(stretch, {.window = part.window}));
    const double factor_of_operations = part.weight * operations / part.window->operations;
    const double factor_of_time = part.weight * seconds / part.window->seconds;
    server_.add(part.window->sides.server, factor_of_operations, factor_of_time);
    client_.add(part.window->sides.client, factor_of_operations, factor_of_time);
  }
  if (at_operations > 0) {  // chains grow with the operations
    entries_walked_ += operations * entries_walked * (all + operations / 2) / at_operations;
  }
}

// Each window's latencies, stretched to the mean that its stretch of the run has.
void Integration::fill_latency(Histogram& latency) const {
  const std::uint64_t total = scenario_.load.total_operations;
  double sum = 0;
  double latest_ns = 0;
  for (const Stretch& stretch : stretches_) {
    if (stretch.operations <= 0) continue;
    const Histogram& measured = stretch.window->sides.measured.latency;
    const double factor = stretch.latency_ns / stretch.operations / measured.mean_ns();
    for (const Histogram::Bucket& bucket : measured.buckets()) {
      sum += stretch.operations * static_cast<double>(bucket.count) / static_cast<double>(measured.count());
      latest_ns = factor * static_cast<double>(bucket.first_ns + bucket.last_ns) / 2;
      // What is left of the operations' fractions goes on to the next bucket.
      const auto up_to = std::min(static_cast<std::uint64_t>(sum), total);
      if (up_to <= latency.count()) continue;
      latency.record(Duration(std::llround(latest_ns)), up_to - latency.count());
    }
  }
  latency.record(Duration(std::llround(latest_ns)), total - latency.count());
}

// What windows counted an operation, for all operations of the run.
void Integration::fill_counts(PointResult& result) const {
  std::map<std::pair<Method, ResponseCode>, double> counts;
  double copied = 0;
  for (const Stretch& stretch : stretches_) {
    if (stretch.operations <= 0) continue;
    const SampledWindow& window = *stretch.window;
    const PointResult& measured = window.sides.measured;
    for (const Method method : OperationCounts::methods) {
      for (std::uint8_t code = 0; code < response_code_count; ++code) {
        counts[{method, ResponseCode{code}}] +=
            stretch.operations * static_cast<double>(measured.operations.of(method, ResponseCode{code})) /
            window.operations;
      }
    }
    copied += stretch.operations * window.bytes_copied;
    const double part = stretch.operations / static_cast<double>(scenario_.load.total_operations);
    for (const auto& [where, time_ns] : time_spent(window.sides.spent, measured.operations.total())) {
      result.time_spent_ns[where] += part * time_ns;
    }
  }
  double sum = 0;
  std::uint64_t given = 0;
  for (const auto& [what, count] : counts) {
    sum += count;
    const auto up_to = static_cast<std::uint64_t>(std::llround(sum));
    result.operations.add(what.first, what.second, up_to - given);
    if (what.first == Method::set && what.second == ResponseCode::ok) {
      result.server_work.store_entries += up_to - given;
    }
    given = up_to;
  }
  result.server_work.served = scenario_.load.total_operations;
  result.server_work.entries_walked = static_cast<std::uint64_t>(entries_walked_);
  result.server_work.bytes_copied = static_cast<std::uint64_t>(copied);
}

void Integration::fill_sides(PointResult& result) const {
  const auto clients = static_cast<std::uint32_t>(done_.size());
  const auto usage = [](const SideSum& sum, std::uint32_t threads, double lifetimes_s) {
    return SideUsage{
        .threads = threads,
        .voluntary_switches = static_cast<std::uint64_t>(std::llround(sum.voluntary_switches)),
        .involuntary_switches = static_cast<std::uint64_t>(std::llround(sum.involuntary_switches)),
        .cpu_time = to_duration(static_cast<Ps>(sum.cpu_time_ps)),
        .thread_wall_time = Duration(std::llround(lifetimes_s * ns_in_s))};
  };
  // Before the first client begins, workers do what they do while one of them is asked.
  const double pause_s = std::chrono::duration<double>(scenario_.load.connect_pause).count();
  SideSum server = server_;
  server.add(first_->sides.server, 0, pause_s / first_->seconds);
  const double client_lifetimes_s =
      scenario_.load.stay_until_all_end
          ? clients * (pause_s + now_s_)
          : std::accumulate(ended_s_.begin(), ended_s_.end(), pause_s * static_cast<double>(clients));
  const std::uint32_t workers = first_->sides.measured.server.threads;
  result.server = usage(server, workers, workers * (pause_s + now_s_));
  result.client = usage(client_, clients, client_lifetimes_s);
}

PointResult Integration::result() const {
  PointResult result;
  result.clients = static_cast<std::uint32_t>(done_.size());
  fill_latency(result.latency);
  fill_counts(result);
  fill_sides(result);
  result.window.first_request = scenario_.load.connect_pause;
  result.window.last_response = scenario_.load.connect_pause + Duration(std::llround(now_s_ * ns_in_s));
  const std::uint64_t p99_ns = result.latency.quantile_ns(0.99);
  for (std::uint32_t client = 0; client < done_.size(); ++client) {
    result.per_client.push_back({.client = client,
                                 .operations = static_cast<std::uint64_t>(quota_[client]),
                                 .throughput_ops_s = quota_[client] / (ended_s_[client] - begins_s(client)),
                                 .latency_mean_ns = latency_sum_ns_[client] / quota_[client],
                                 .latency_p99_ns = p99_ns});
  }
  result.sampling = Sampling{.windows = static_cast<std::uint32_t>(cycle_times_.windows()),
                             .operations = cycle_times_.simulated_operations(),
                             .simulated_s = cycle_times_.simulated_seconds()};
  return result;
}

}  // namespace

PointResult sample_point(const Profile& profile, const Scenario& scenario, std::uint32_t clients,
                         const SampleOptions& options) {
  check_can_be_sampled(scenario, profile, scenario.name);
  RunSoFar run(clients);
  CycleTimes cycle_times(profile, scenario, clients, options, run);
  try {
    for (int pass = 1;; ++pass) {
      const std::size_t before = cycle_times.windows();
      cycle_times.begin_pass();
      const Integration integration(scenario, clients, cycle_times, run);
      // The second pass is the first one that knows where levels end.
      if ((cycle_times.windows() == before && pass > 1) || pass == most_passes) return integration.result();
    }
  } catch (const Interrupted&) {
    PointResult nothing;
    nothing.clients = clients;
    nothing.partial_reason = "stopped";
    return nothing;
  }
}

void check_can_be_sampled(const Scenario& scenario, const Profile& profile, const std::string& source) {
  Problems problems(source);
  const auto need = [&](bool given, const char* pointer, const char* what) {
    if (!given) problems.add(pointer, std::string("can't be sampled (--sample): needs ") + what);
  };
  const Load& load = scenario.load;
  need(scenario.workload != Workload::verbs, "/exchange", "a key-value service");
  need(load.arrivals.kind == Arrivals::Kind::closed, "/load/arrivals/kind", "\"closed\"");
  need(load.total_operations > 0, "/load/total_operations", "a number of operations to end by, not a time");
  need(load.window == 1, "/load/window", "1");
  need(load.turns.clients == 0, "/load/turns/clients", "0: windows know no clock");
  need(load.warm_up_operations == 0, "/load/warm_up_operations", "0: the ramp is part of the run");
  need(load.warm_up == Duration::zero(), "/load/warm_up_s", "0: the ramp is part of the run");
  need(scenario.keys.distribution == KeyOptions::Distribution::thesis, "/keys/distribution",
       "\"thesis\", whose store can be put into any stage of its growth");
  need(scenario.store.kind == StoreOptions::Kind::chained, "/store/kind", "\"chained\"");
  need(!scenario.check, "/check", "false: not every response is made");
  need(!scenario.trace, "/trace", "false: not every operation is made");
  const NetworkProfile& network = profile.network;
  if (network.loss > 0 || network.duplicate > 0 || network.reorder > 0) {
    problems.add("",
                 "can't be sampled (--sample) with the profile " + profile.name +
                     ": needs /network/loss, duplicate and reorder of 0, since what is lost is waited for "
                     "longer than a window lasts");
  }
  problems.throw_if_any();
}

}  // namespace rkv::sim
