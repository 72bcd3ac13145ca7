#include "backends/sim/run/hurried_moves.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

void set_pace(Simulation& simulation, double times) {
  for (std::uint32_t number = 0; number < simulation.host_count(); ++number) {
    Host& host = simulation.host(number);
    const auto at_pace = [&](Ps time) { return static_cast<Ps>(static_cast<double>(time) / times); };
    const SchedulerProfile& own = host.cpus().scheduler();
    host.numa_balancing().set_period(at_pace(own.numa_balancing));
    host.cpus().set_active_balance(at_pace(own.active_balance));
    host.memory().count_walks(times);
  }
}

}  // namespace

HurriedMoves::HurriedMoves(Simulation& simulation, double times)
    : simulation_(simulation), times_(times), since_(simulation.world().now()) {
  set_pace(simulation_, times_);
}

HurriedMoves::~HurriedMoves() {
  set_pace(simulation_, 1);
  const Ps now = simulation_.world().now();
  for (const auto& thread : simulation_.threads()) {
    // It has been on its CPU for so much longer.
    const Ps hurried = now - std::max(thread->came_at, since_);
    thread->came_at -= static_cast<Ps>((times_ - 1) * static_cast<double>(hurried));
  }
}

}  // namespace rkv::sim
