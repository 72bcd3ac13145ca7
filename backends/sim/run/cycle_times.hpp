// How long a client of the thesis's workload takes from one request to its next, depending on how many
// clients are active and on how far the store has grown: measured in short windows, simulated where they are
// first needed, and interpolated between them.
//
// Windows lie on levels of active clients (1, 2, 4, 8, ..., the hosts' cores and CPUs, all) and, on each
// level, at stages of growth. What a walk along a mean chain costs at a stage is known from the profile; what
// the rest of a cycle takes is interpolated linearly against that cost, and between levels linearly against
// the number of clients, as a saturated resource would have it.
//
// Clients differ for as long as a run lasts: the keys of one fall into longer chains than those of another,
// which is known, or it has a CPU to itself, or shares it. A client's speed over that of others but for its
// chains is estimated from all windows together, since no two of them have the same clients active. Where
// threads that poll have no CPU each, who has one to itself changes as NUMA balancing exchanges threads:
// there, the speeds that clients have in a window are dealt among them anew in each of its periods.
//
// Where threads change sockets within a run (cpu/numa_balancing.hpp), each window goes on from the placement
// that the last one before it in the run has left (placement.hpp), after as many moves as the run has in
// between, in a hurry (hurried_moves.hpp): where threads and entries come to depends on where they were.
// Elsewhere each window places its threads anew. Where interrupts draw threads, whom they draw depends on
// when the run's clients began (wakees_of_window.hpp). One thread at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backends/sim/run/bends.hpp"
#include "backends/sim/run/run_so_far.hpp"
#include "backends/sim/run/sample_point.hpp"
#include "backends/sim/run/simulate_window.hpp"
#include "backends/sim/run/thesis_stage.hpp"

namespace rkv::sim {

// One simulated window, as figures of an operation.
struct SampledWindow {
  double all_operations = 0;  // done by all clients in the middle of what is measured: its stage
  double walk_ns = 0;         // a walk along a mean chain at this stage
  double cycle_ns = 0;        // mean, from a request to the next of the same client
  double latency_ns = 0;      // mean
  double seconds = 0;         // measured
  double operations = 0;      // measured
  double entries_walked = 0;  // an operation
  double bytes_copied = 0;    // an operation
  // A client each: its operations over the mean of the active ones; 0: it was idle.
  std::vector<double> shares;
  // A client each: what a walk along its own chains takes longer than the mean one of those that are active.
  std::vector<double> longer_ns;
  SidesInWindow sides;
};

// A state of the run between windows.
struct CycleTime {
  double cycle_ns = 0;    // of a client of speed 1
  double between_ns = 0;  // part of any client's cycle that is not latency
  struct Part {
    const SampledWindow* window;
    double weight;  // 0 to 1, together 1
  };
  std::vector<Part> parts;
  struct Place {
    std::uint32_t level;
    double walk_ns;
    double weight;  // as a part's
  };
  std::vector<Place> places;  // between whose windows it lies
};

// keep_on() wants the point to end early.
class Interrupted {};

class CycleTimes {
 public:
  CycleTimes(const Profile& profile, const Scenario& scenario, std::uint32_t clients,
             const SampleOptions& options, const RunSoFar& run);

  // Of the run's present stage, `now_s` after its beginning, but with so many operations done by all clients.
  // `active` are the clients that are active there, and are not empty.
  [[nodiscard]] CycleTime at(std::span<const std::uint32_t> active, double all_operations, double now_s);
  // So many operations of the run are done in this state.
  void done(const CycleTime& time, double operations);
  // Of these active clients, each over that of an average one, from `now_s` until speeds_last_s(now_s).
  [[nodiscard]] std::vector<double> speeds(std::span<const std::uint32_t> active, const CycleTime& time,
                                           double now_s) const;
  [[nodiscard]] double speeds_last_s(double now_s) const;
  // The next pass over the run begins. What the ones before have found tells where lines between windows may
  // be far from the run (bends.hpp).
  void begin_pass();

  [[nodiscard]] std::size_t windows() const { return windows_; }
  [[nodiscard]] double simulated_seconds() const { return simulated_seconds_; }
  [[nodiscard]] std::uint64_t simulated_operations() const { return simulated_operations_; }

 private:
  // Windows of one number of clients by their walk_ns, which is longer than the one that was asked for.
  struct Level {
    std::map<double, SampledWindow> windows;
    double shortest_walk_ns = HUGE_VAL;           // for which one was asked for
    double longest_walk_ns = 0;                   // that was asked for in this pass
    double longest_walk_before_ns = 0;            // and in the one before; 0: there was none
    std::vector<std::pair<double, double>> done;  // in this pass: at which walk, how many operations
    std::vector<Bend> bends;                      // where this pass is to have another window
  };

  [[nodiscard]] double walk_ns(double all_operations) const;
  [[nodiscard]] static bool covers(const Level& level, double walk);
  [[nodiscard]] std::vector<Bend> bends_of(const Level& level) const;
  // Of a window, for a client of speed 1.
  [[nodiscard]] double cycle_ns(const SampledWindow& window) const;
  struct Slopes {  // a nanosecond of walk
    double cycle = 1;
    double between = 0;
  };
  [[nodiscard]] Slopes slopes(const Level& level) const;
  void add_level(std::uint32_t level, double weight, std::span<const std::uint32_t> active, double walk,
                 CycleTime& sum);
  void simulate(std::uint32_t level, std::span<const std::uint32_t> active);
  // How many times as long as with mean chains the client's cycle takes.
  [[nodiscard]] static double slowed(const SampledWindow& window, std::uint32_t client) {
    return 1 + window.longer_ns[client] / window.cycle_ns;
  }
  // From its sides; its cycles took `cycle_ns`.
  void fill_figures(SampledWindow& window, const WindowPlan& plan, std::uint32_t level,
                    double cycle_ns) const;
  [[nodiscard]] WindowPlan plan(std::uint32_t level, std::span<const std::uint32_t> active) const;
  double go_on_from_before(WindowPlan& plan) const;
  void set_times(WindowPlan& plan, std::uint32_t level, double cycle_ns, double moves_s) const;
  Duration measure_whole_periods(WindowPlan& plan, std::uint32_t level, double cycle_ns) const;
  // Of a window.
  [[nodiscard]] double wanted_operations() const;
  [[nodiscard]] double expected_cycle_ns(std::uint32_t level) const;
  void estimate_speeds();
  // How often speeds were dealt anew before.
  [[nodiscard]] double deals_before(double now_s) const;
  [[nodiscard]] bool threads_take_turns() const { return rotation_ > Duration::zero(); }

  const Profile profile_;
  const Scenario& scenario_;
  const std::uint32_t clients_;
  const SampleOptions& options_;
  const RunSoFar& run_;
  ThesisStage stage_;
  World no_world_{0};  // for the costs of memory, which ask nothing of it
  Memory memory_;
  Duration rotation_{0};     // in which every spinning thread has its slice; 0: each has a CPU
  double luck_lasts_s_ = 0;  // where threads take turns; 0: for all of the run
  const WakeesOfWindow wakees_;
  std::map<std::uint32_t, Level> levels_;
  std::vector<double> speeds_;              // a client each
  double now_s_ = 0;                        // as at() was told
  std::map<double, Placement> placements_;  // as windows left them, by their now_s
  std::size_t windows_ = 0;
  double simulated_seconds_ = 0;
  std::uint64_t simulated_operations_ = 0;
};

}  // namespace rkv::sim
