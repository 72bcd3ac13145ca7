#include "backends/sim/run/simulate_window.hpp"

#include <memory>

#include "backends/sim/run/asked_profile.hpp"
#include "core/store/modelled_chained_store.hpp"
#include "core/workload/rng.hpp"

namespace rkv::sim {
namespace {

// After it all threads have begun and sleep or poll.
constexpr Duration threads_begin{1'000'000};

WindowSchedule schedule_of(const WindowPlan& plan, Instant threads_start, std::uint64_t seed) {
  const Instant start = threads_start + threads_begin;
  WindowSchedule schedule{.placed = start,
                          .wakees = plan.wakees,
                          .moves_begin = start + plan.begin,
                          .moves_end = start + plan.begin + plan.moving,
                          .hurry = plan.hurry,
                          .warm_up_end = start + plan.begin + plan.moving + plan.settling,
                          .measured_end = {},
                          .clients = {}};
  schedule.measured_end = schedule.warm_up_end + plan.measured;
  const Instant end = schedule.measured_end + plan.cool_down;
  for (std::size_t client = 0; client < plan.clients.size(); ++client) {
    ClientSchedule& own = schedule.clients.emplace_back();
    own = {.start = end,
           .warm_up_end = schedule.warm_up_end,
           .measured_end = schedule.measured_end,
           .end = end,
           .operations_before = plan.clients[client].value_or(0)};
    if (!plan.clients[client]) {
      own.start = own.end = start;
      own.stays = plan.stays[client];
      continue;
    }
    Rng rng(seed, client, Purpose::window);
    own.start =
        start + Duration(static_cast<std::int64_t>(rng.unit() * static_cast<double>(plan.begin.count())));
  }
  return schedule;
}

}  // namespace

SidesInWindow simulate_window(const Profile& profile, const Scenario& scenario, const WindowPlan& plan,
                              const StandIns& store, const SimulationOptions& options) {
  Scenario endless = scenario;  // the window ends it
  endless.load.total_operations = 0;
  endless.load.start_stagger = Duration::zero();
  endless.seed = options.seed;
  Simulation simulation(asked_profile(profile, scenario), options);
  SimPorts ports(simulation, scenario.transport);
  SidesInWindow window;
  simulation.run([&] {
    Runtime& runtime = *ports.port(0).runtime;
    Sides sides(simulation, ports, endless, static_cast<std::uint32_t>(plan.clients.size()),
                std::make_unique<ModelledChainedStore>(scenario.store.buckets, runtime, store_bytes, &store));
    window =
        sides.run_window(plan.before, [&](Instant start) { return schedule_of(plan, start, options.seed); });
  });
  return window;
}

}  // namespace rkv::sim
