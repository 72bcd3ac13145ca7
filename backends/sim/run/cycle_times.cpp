#include "backends/sim/run/cycle_times.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "core/store/blob.hpp"
#include "core/store/chained_store.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv::sim {
namespace {

// A level gets another window when the walk has become longer by this part of a cycle: the second and the
// third soon, since with the first entries clients that went in step go at random, which changes how they
// meet, and since two windows tell how much more of the cycle grows with the walk.
constexpr std::array<double, 3> growth_between_windows{0.02, 0.12, 0.25};
// Where a level is last needed, so that little is left beyond its last window.
constexpr double growth_at_end = 0.03;
constexpr double almost_all = 0.9;
// In this part of a cycle, windows that are closer to each other tell no slope: it would be all chance.
constexpr double far_enough = 0.1;
// A bend gets another window when it may change so much of the run's time, by windows of so many operations.
constexpr double wrong_by_a_bend = 0.0018;
constexpr double usual_operations = 120'000;
// Operations of each client, at least.
constexpr double warm_up_cycles = 20;
constexpr double measured_cycles = 40;
constexpr double cool_down_cycles = 3;
// A window has at most one operation in so many of the run, as the store grows meanwhile.
constexpr std::uint64_t most_of_run = 20;
constexpr double warm_up_part = 0.2;  // of what is measured
// Rounds of all threads' time slices, where there are more spinning threads than CPUs.
constexpr std::int64_t warm_up_rotations = 1;
constexpr std::int64_t settling_rotations = 3;
constexpr std::int64_t measured_rotations = 3;
constexpr double first_guess_ns = 10'000;
// In a period of a window's wakees (wakees_of_window.hpp).
constexpr double operations_a_period = 10'000;
constexpr double rounding = 1e-9;  // of times

// Of some client of two digits and some count of six.
constexpr std::uint32_t usual_key_bytes = 33;
constexpr std::uint32_t usual_value_bytes = 37;

// In which every thread that spins on a host has had its slice; nothing when each has a CPU for itself.
Duration rotation_of(const HostProfile& host, std::uint32_t threads) {
  const std::uint32_t cpus = host.cpu.cpus();
  if (threads <= cpus) return Duration{0};
  const Ps a_cpu = (threads + cpus - 1) / cpus;
  const Ps slices = std::max(host.scheduler.latency, a_cpu * host.scheduler.slice);
  return to_duration(slices + a_cpu * host.scheduler.tick / 2);  // slices end at ticks
}

Duration rotation_of(const Profile& profile, const Scenario& scenario, std::uint32_t clients) {
  const std::uint32_t workers = scenario.server.workers != 0 ? scenario.server.workers : clients;
  const std::uint32_t at_server = server_polls(scenario) ? workers : 0;
  const std::uint32_t at_client = client_polls(scenario) ? clients : 0;
  if (profile.network.one_host) return rotation_of(profile.server, at_server + at_client);
  const std::uint32_t hosts = std::min(profile.network.client_hosts, clients);
  return std::max(rotation_of(profile.server, at_server),
                  rotation_of(profile.client, (at_client + hosts - 1) / hosts));
}

std::set<std::uint32_t> level_numbers(const Profile& profile, std::uint32_t clients) {
  std::set<std::uint32_t> levels{clients};
  for (std::uint32_t level = 1; level < clients; level *= 2) levels.insert(level);
  for (const HostProfile* host : {&profile.server, &profile.client}) {
    for (const std::uint32_t level : {host->cpu.cpus() / host->cpu.smt_ways, host->cpu.cpus()}) {
      if (level > 0 && level < clients) levels.insert(level);
    }
  }
  return levels;
}

// How many times as often threads move until they are where they come to between two windows: as that takes
// this part of what is measured. With 500 threads are pushed off a CPU after 0.1 ms there instead of 50 ms,
// which is about an operation later. The fewer the better, since a move that finds what the one before has
// left (who waits for a lock of a thread that was taken away sleeps for a moment, and has its CPU taken)
// leaves threads on siblings as no move of a run does.
constexpr double least_hurry = 50;
constexpr double most_hurry = 500;
constexpr double moving_part = 0.1;
// Of a run. What was longer ago is forgotten, or threads have come to rest.
constexpr double most_moves_s = 100;
constexpr Duration least_settling{5'000'000};

std::uint32_t cpus_a_socket(const Profile& profile) {
  return std::min(profile.server.cpu.cpus() / profile.server.cpu.sockets,
                  profile.client.cpu.cpus() / profile.client.cpu.sockets);
}

bool moves_threads(const Profile& profile) {
  return profile.server.scheduler.numa_balancing > 0 || profile.client.scheduler.numa_balancing > 0;
}

// A thread is exchanged for another once in this time on average: half the time in its own turn, since every
// second entry lies in its own socket, as often in another's.
double luck_lasts_s(const Profile& profile) {
  return std::chrono::duration<double>(to_duration(std::max(profile.server.scheduler.numa_balancing,
                                                            profile.client.scheduler.numa_balancing)))
      .count();
}

bool is_in(const Bend& bend, double walk_ns) {
  return walk_ns >= bend.from_walk_ns && walk_ns < bend.to_walk_ns;
}

Duration nanoseconds(double time) {
  return Duration(std::llround(time));
}

}  // namespace

CycleTimes::CycleTimes(const Profile& profile, const Scenario& scenario, std::uint32_t clients,
                       const SampleOptions& options, const RunSoFar& run)
    : profile_(profile),
      scenario_(scenario),
      clients_(clients),
      options_(options),
      run_(run),
      stage_(scenario.seed, clients, scenario.store.buckets, run),
      memory_(no_world_, profile.server.memory, profile.server.cpu.sockets),
      rotation_(rotation_of(profile, scenario, clients)),
      luck_lasts_s_(luck_lasts_s(profile)),
      wakees_(server_polls(scenario) && client_polls(scenario) ? WakeesOfWindow()
                                                               : wakees_of_window(profile, scenario)),
      speeds_(clients, 1) {
  for (const std::uint32_t level : level_numbers(profile, clients)) levels_[level];
}

// Along a chain of mean length, if chains were even: what they are changes nothing but the scale.
double CycleTimes::walk_ns(double all_operations) const {
  constexpr double entry_bytes = static_cast<double>(
      ChainedStore::entry_bytes + Blob::footprint(usual_key_bytes) + Blob::footprint(usual_value_bytes));
  const double entries = thesis_set_share * all_operations;
  return entries / scenario_.store.buckets *
         static_cast<double>(memory_.entry_cost(static_cast<std::uint64_t>(entries * entry_bytes))) /
         ps_in_ns;
}

CycleTime CycleTimes::at(std::span<const std::uint32_t> active, double all_operations, double now_s) {
  now_s_ = now_s;
  const auto count = static_cast<std::uint32_t>(active.size());
  const double walk = walk_ns(all_operations);
  const auto above = levels_.lower_bound(count);
  CycleTime time;
  if (above->first == count) {
    add_level(count, 1, active, walk, time);
    return time;
  }
  const std::uint32_t low = std::prev(above)->first;
  const std::uint32_t high = above->first;
  const double part = static_cast<double>(count - low) / (high - low);
  add_level(low, 1 - part, active, walk, time);
  add_level(high, part, active, walk, time);
  return time;
}

std::vector<double> CycleTimes::speeds(std::span<const std::uint32_t> active, const CycleTime& time,
                                       double now_s) const {
  std::vector<double> speeds;
  if (!threads_take_turns()) {
    for (const std::uint32_t client : active) {
      double times = 0;
      for (const CycleTime::Part& part : time.parts) times += part.weight * slowed(*part.window, client);
      speeds.push_back(speeds_[client] / times);
    }
    return speeds;
  }
  const auto most = std::max_element(time.parts.begin(), time.parts.end(),
                                     [](const auto& a, const auto& b) { return a.weight < b.weight; });
  for (const double share : most->window->shares) {
    if (share > 0) speeds.push_back(share);
  }
  while (speeds.size() < active.size()) speeds.push_back(1);  // the window is of a lower level
  Rng rng(scenario_.seed, static_cast<std::uint64_t>(deals_before(now_s)), Purpose::window);
  for (std::size_t i = speeds.size(); i > 1; --i) std::swap(speeds[i - 1], speeds[rng.below(i)]);
  speeds.resize(active.size());
  const double mean = std::accumulate(speeds.begin(), speeds.end(), 0.0) / static_cast<double>(speeds.size());
  for (double& speed : speeds) speed /= mean;
  return speeds;
}

double CycleTimes::speeds_last_s(double now_s) const {
  if (!threads_take_turns() || luck_lasts_s_ == 0) return HUGE_VAL;
  return (deals_before(now_s) + 1) * luck_lasts_s_;
}

double CycleTimes::deals_before(double now_s) const {
  return luck_lasts_s_ > 0 ? std::floor(now_s / luck_lasts_s_ + rounding) : 0;
}

void CycleTimes::begin_pass() {
  for (auto& [number, level] : levels_) {
    level.longest_walk_before_ns = std::exchange(level.longest_walk_ns, 0);
    level.bends = bends_of(level);
    level.done.clear();
  }
}

void CycleTimes::done(const CycleTime& time, double operations) {
  for (const CycleTime::Place& place : time.places) {
    levels_[place.level].done.emplace_back(place.walk_ns, place.weight * operations);
  }
}

std::vector<Bend> CycleTimes::bends_of(const Level& level) const {
  std::vector<CyclePoint> points;
  for (const auto& [walk, window] : level.windows) {
    points.push_back({.walk_ns = walk, .cycle_ns = cycle_ns(window)});
  }
  for (const auto& [walk, operations] : level.done) {
    const auto above = std::find_if(points.begin(), points.end(),
                                    [walk = walk](const CyclePoint& point) { return point.walk_ns > walk; });
    if (above == points.begin()) continue;
    CyclePoint& low = *std::prev(above);
    low.part_after += operations;
    low.walk_after_ns += operations * walk;
  }
  for (CyclePoint& point : points) {
    if (point.part_after > 0) point.walk_after_ns /= point.part_after;
    point.part_after /= static_cast<double>(scenario_.load.total_operations);
  }
  // Windows of fewer operations are less certain, and so is what they say of bends.
  return bends(points, wrong_by_a_bend * std::sqrt(usual_operations / wanted_operations()));
}

bool CycleTimes::covers(const Level& level, double walk) {
  if (level.windows.empty()) return false;
  const SampledWindow& first = level.windows.begin()->second;
  const SampledWindow& last = level.windows.rbegin()->second;
  if (std::any_of(level.bends.begin(), level.bends.end(),
                  [&](const Bend& bend) { return is_in(bend, walk); })) {
    return false;
  }
  const double growth =
      growth_between_windows[std::min(level.windows.size(), growth_between_windows.size()) - 1];
  if (walk < level.shortest_walk_ns - growth * first.cycle_ns) return false;
  const bool at_end = level.longest_walk_before_ns > 0 && walk > almost_all * level.longest_walk_before_ns;
  return walk <= last.walk_ns + (at_end ? growth_at_end : growth) * last.cycle_ns;
}

double CycleTimes::cycle_ns(const SampledWindow& window) const {
  double active = 0;
  double speeds = 0;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (window.shares[client] <= 0) continue;
    ++active;
    speeds += speeds_[client] / slowed(window, client);
  }
  return window.cycle_ns * speeds / active;
}

// Of the level's last window and the last one that is not next to it; of another level's when it has not so
// many.
CycleTimes::Slopes CycleTimes::slopes(const Level& level) const {
  const Level* telling = &level;
  if (level.windows.size() < 2) {
    for (const auto& [number, other] : levels_) {
      if (other.windows.size() >= 2) telling = &other;  // the one of most clients
    }
  }
  if (telling->windows.size() < 2) return {};
  const SampledWindow& last = telling->windows.rbegin()->second;
  auto other = std::prev(telling->windows.end(), 2);
  while (other != telling->windows.begin() && last.walk_ns - other->first < far_enough * last.cycle_ns) {
    --other;
  }
  const SampledWindow& before = other->second;
  const double walk = last.walk_ns - before.walk_ns;
  return {.cycle = (cycle_ns(last) - cycle_ns(before)) / walk,
          .between = (last.cycle_ns - last.latency_ns - before.cycle_ns + before.latency_ns) / walk};
}

void CycleTimes::add_level(std::uint32_t level_number, double weight, std::span<const std::uint32_t> active,
                           double walk, CycleTime& sum) {
  Level& level = levels_[level_number];
  if (!covers(level, walk)) {
    simulate(level_number, active);
    std::erase_if(level.bends, [&](const Bend& bend) { return is_in(bend, walk); });
  }
  level.longest_walk_ns = std::max(level.longest_walk_ns, walk);
  sum.places.push_back({.level = level_number, .walk_ns = walk, .weight = weight});
  const auto add = [&](const SampledWindow& window, double part) {
    if (part <= 0) return;
    sum.cycle_ns += weight * part * cycle_ns(window);
    sum.between_ns += weight * part * (window.cycle_ns - window.latency_ns);
    sum.parts.push_back({.window = &window, .weight = weight * part});
  };
  const auto above = level.windows.lower_bound(walk);
  if (above == level.windows.begin() || above == level.windows.end()) {
    const SampledWindow& nearest =
        above == level.windows.end() ? level.windows.rbegin()->second : above->second;
    const Slopes slope = slopes(level);
    add(nearest, 1);
    sum.cycle_ns += weight * slope.cycle * (walk - nearest.walk_ns);
    sum.between_ns += weight * slope.between * (walk - nearest.walk_ns);
    return;
  }
  const SampledWindow& low = std::prev(above)->second;
  const double part = (walk - low.walk_ns) / (above->second.walk_ns - low.walk_ns);
  add(low, 1 - part);
  add(above->second, part);
}

// Some of `active`, evenly chosen; when they are too few, those that begin next, then those that ended last.
WindowPlan CycleTimes::plan(std::uint32_t level, std::span<const std::uint32_t> active) const {
  WindowPlan plan;
  plan.wakees = wakees_;
  plan.wakees.now = to_ps(nanoseconds(now_s_ * ns_in_s));
  plan.clients.resize(clients_);
  plan.stays.resize(clients_);
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < std::min<std::size_t>(level, active.size()); ++i) {
    order.push_back(active[i * active.size() / std::min<std::size_t>(level, active.size())]);
  }
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (stage_.operations()[client] == 0) order.push_back(client);
  }
  for (std::uint32_t client = clients_; client-- > 0;) order.push_back(client);
  std::uint32_t chosen = 0;
  for (const std::uint32_t client : order) {
    if (plan.clients[client]) continue;
    plan.clients[client] = stage_.operations()[client];
    if (++chosen == level) break;
  }
  if (!scenario_.load.stay_until_all_end) return plan;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    plan.stays[client] = !plan.clients[client] && stage_.operations()[client] > 0 &&
                         std::find(active.begin(), active.end(), client) == active.end();
  }
  return plan;
}

double CycleTimes::expected_cycle_ns(std::uint32_t level) const {
  const Level* nearest = nullptr;
  for (const auto& [number, other] : levels_) {
    if (other.windows.empty() || (nearest != nullptr && number > level)) continue;
    nearest = &other;
  }
  if (nearest == nullptr) return first_guess_ns;
  const double walk = walk_ns(run_.all_operations());
  const auto above = nearest->windows.lower_bound(walk);
  if (above == nearest->windows.begin()) return above->second.cycle_ns;
  const SampledWindow& low = std::prev(above)->second;
  if (above == nearest->windows.end()) return low.cycle_ns + walk - low.walk_ns;
  const SampledWindow& high = above->second;
  return low.cycle_ns + (high.cycle_ns - low.cycle_ns) * (walk - low.walk_ns) / (high.walk_ns - low.walk_ns);
}

// From the last window before this one in the run. Returns for how long threads have moved since.
double CycleTimes::go_on_from_before(WindowPlan& plan) const {
  const auto later = placements_.upper_bound(now_s_);
  if (!moves_threads(profile_) || later == placements_.begin()) return 0;
  const auto& [then_s, placement] = *std::prev(later);
  plan.before = placement;
  return std::min(now_s_ - then_s, most_moves_s);
}

double CycleTimes::wanted_operations() const {
  return static_cast<double>(
      std::min(options_.operations_a_window, scenario_.load.total_operations / most_of_run));
}

// Of wakees' counts. Returns how long these take to settle.
Duration CycleTimes::measure_whole_periods(WindowPlan& plan, std::uint32_t level, double cycle_ns) const {
  WakeesOfWindow& wakees = plan.wakees;
  if (wakees.cpus_began.empty() || level > cpus_a_socket(profile_)) return Duration{0};
  const auto least = nanoseconds(std::min(operations_a_period, wanted_operations()) / level * cycle_ns);
  wakees.times = static_cast<std::uint32_t>(std::max<std::int64_t>(1, wakees.period / least));
  const Duration period = wakees.period_in_window();
  plan.measured = period * std::max<std::int64_t>(1, (plan.measured + period / 2) / period);
  return period;
}

void CycleTimes::set_times(WindowPlan& plan, std::uint32_t level, double cycle_ns, double moves_s) const {
  const double measured = std::max(wanted_operations() / level, measured_cycles) * cycle_ns;
  plan.measured = std::max(nanoseconds(measured), measured_rotations * rotation_);
  const Duration settling_of_wakees = measure_whole_periods(plan, level, cycle_ns);
  plan.hurry = std::clamp(moves_s * ns_in_s / (moving_part * measured), least_hurry, most_hurry);
  plan.moving = nanoseconds(moves_s / plan.hurry * ns_in_s);
  const Duration warm_up = std::max(nanoseconds(std::max(warm_up_part * measured, warm_up_cycles * cycle_ns)),
                                    warm_up_rotations * rotation_);
  plan.begin = warm_up / 2;
  plan.settling = std::max({warm_up / 2, settling_rotations * rotation_, settling_of_wakees});
  if (plan.moving > Duration::zero()) plan.settling = std::max(plan.settling, least_settling);
  plan.cool_down = std::max(nanoseconds(cool_down_cycles * cycle_ns), rotation_ / 4);
}

void CycleTimes::fill_figures(SampledWindow& window, const WindowPlan& plan, std::uint32_t level,
                              double cycle_ns) const {
  const PointResult& result = window.sides.measured;
  const auto served = static_cast<double>(std::max<std::uint64_t>(result.server_work.served, 1));
  window.entries_walked = static_cast<double>(result.server_work.entries_walked) / served;
  window.bytes_copied = static_cast<double>(result.server_work.bytes_copied) / served;
  // The store grows meanwhile: the window is of the stage in the middle of what it measures.
  const double part_after =
      static_cast<double>(plan.cool_down.count()) / static_cast<double>(plan.measured.count());
  const double at_middle = served - window.operations * (part_after + 0.5);
  // In entries, so many operations after the window's beginning.
  const std::uint64_t ahead = result.server_work.served / level + 1;  // of each client
  std::vector<double> walks(clients_);
  double walk = 0;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (!plan.clients[client] && stage_.operations()[client] == 0) continue;
    walks[client] = stage_.mean_walk(client, ahead);
    if (plan.clients[client]) walk += walks[client];
  }
  walk /= level;
  const auto expected_walk = [&](double operations) {
    return walk + thesis_set_share * operations / scenario_.store.buckets * part_walked;
  };
  // How long the chains are that these few operations met is partly chance, which is taken off.
  const double entry_ns = static_cast<double>(memory_.entry_cost(stage_.bytes())) / ps_in_ns;
  const double chance = (window.entries_walked - expected_walk(served / 2)) * entry_ns;
  window.all_operations = run_.all_operations() + at_middle;
  window.walk_ns = walk_ns(window.all_operations);
  window.cycle_ns = cycle_ns - chance;
  window.latency_ns = result.latency.mean_ns() - chance;
  window.entries_walked = expected_walk(at_middle);
  window.longer_ns.assign(clients_, 0);
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (stage_.operations()[client] == 0) continue;
    window.longer_ns[client] = (walks[client] - walk) * entry_ns;
  }
  window.shares.assign(clients_, 0);
  for (const ClientResult& client : result.per_client) {
    if (!plan.clients[client.client]) continue;
    // Half an operation, where there was none: it was active.
    window.shares[client.client] =
        std::max(static_cast<double>(client.operations), 0.5) * level / window.operations;
  }
}

void CycleTimes::simulate(std::uint32_t level, std::span<const std::uint32_t> active) {
  stage_.follow();
  WindowPlan plan = this->plan(level, active);
  const double moves_s = go_on_from_before(plan);
  const double wanted = wanted_operations();
  double cycle = expected_cycle_ns(level);
  SampledWindow window;
  for (;;) {
    set_times(plan, level, cycle, moves_s);
    SimulationOptions simulation = options_.simulation;
    std::uint64_t mix = scenario_.seed + windows_;
    simulation.seed = splitmix64(mix);
    window.sides = simulate_window(profile_, scenario_, plan, stage_, simulation);
    ++windows_;
    const PointResult& result = window.sides.measured;
    window.seconds = std::chrono::duration<double>(plan.measured).count();
    window.operations = static_cast<double>(result.operations.total());
    simulated_seconds_ += std::chrono::duration<double>(plan.begin + plan.moving + plan.settling +
                                                        plan.measured + plan.cool_down)
                              .count();
    simulated_operations_ += result.server_work.served;
    if (options_.keep_on &&
        !options_.keep_on(static_cast<Ps>(simulated_seconds_ * 1e12), simulated_operations_)) {
      throw Interrupted();
    }
    if (window.operations > 0) {
      cycle = level * window.seconds * ns_in_s / window.operations;
      if (window.operations >= 0.6 * std::max(wanted, measured_cycles * level)) break;
    } else {
      cycle *= 100;
    }
  }
  placements_[now_s_] = std::move(window.sides.placement);
  fill_figures(window, plan, level, cycle);
  Level& own = levels_[level];
  own.shortest_walk_ns = std::min(own.shortest_walk_ns, walk_ns(run_.all_operations()));
  own.windows.insert_or_assign(window.walk_ns, std::move(window));
  estimate_speeds();
}

// The logarithm of a client's share in a window, but for its chains, is taken for the sum of the window's and
// the client's own (a two-way layout without interaction), solved by turns. Of a client's own, what chance
// would make is taken off: the empirical Bayes estimate for normal errors of one variance.
//
// Windows count by the square of their active clients: those with most of them have most of the run, and what
// sets clients apart (interrupts, siblings) comes from the others.
void CycleTimes::estimate_speeds() {
  if (threads_take_turns()) return;
  constexpr int turns = 20;
  struct Observation {
    std::size_t window;
    std::uint32_t client;
    double log_share;
    double weight;
  };
  std::vector<Observation> observations;
  std::size_t windows = 0;
  double weights = 0;
  for (const auto& [number, level] : levels_) {
    for (const auto& [walk, window] : level.windows) {
      const double weight = static_cast<double>(number) * number;
      for (std::uint32_t client = 0; client < clients_; ++client) {
        if (window.shares[client] <= 0) continue;
        observations.push_back(
            {windows, client, std::log(window.shares[client] * slowed(window, client)), weight});
        weights += weight;
      }
      ++windows;
    }
  }
  std::vector<double> of_client(clients_);
  std::vector<double> in_window(windows);
  for (Observation& observation : observations) {
    observation.weight *= static_cast<double>(observations.size()) / weights;
    of_client[observation.client] += observation.weight;
    in_window[observation.window] += observation.weight;
  }
  std::vector<double> own(clients_);
  std::vector<double> of_window(windows);
  for (int turn = 0; turn < turns; ++turn) {
    std::fill(of_window.begin(), of_window.end(), 0);
    for (const auto& [window, client, share, weight] : observations) {
      of_window[window] += weight * (share - own[client]) / in_window[window];
    }
    std::fill(own.begin(), own.end(), 0);
    for (const auto& [window, client, share, weight] : observations) {
      own[client] += weight * (share - of_window[window]) / of_client[client];
    }
  }
  double residual = 0;
  for (const auto& [window, client, share, weight] : observations) {
    const double rest = share - of_window[window] - own[client];
    residual += weight * rest * rest;
  }
  double spread = 0;
  double inverse = 0;
  double seen = 0;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (of_client[client] == 0) continue;
    ++seen;
    spread += own[client] * own[client];
    inverse += 1 / of_client[client];
  }
  speeds_.assign(clients_, 1);
  const double freedom = static_cast<double>(observations.size()) - static_cast<double>(windows) - seen + 1;
  if (freedom < 1) return;
  const double noise = residual / freedom;
  const double variance = std::max(0.0, (spread - noise * inverse) / seen);
  for (std::uint32_t client = 0; client < clients_; ++client) {
    if (of_client[client] == 0 || variance == 0) continue;
    speeds_[client] = std::exp(own[client] * variance / (variance + noise / of_client[client]));
  }
}

}  // namespace rkv::sim
