#include "backends/sim/run/hurried_moves.hpp"

#include <algorithm>

namespace rkv::sim {
namespace {

void set_pace(Simulation& simulation, double times) {
  for (std::uint32_t number = 0; number < simulation.host_count(); ++number) {
    Host& host = simulation.host(number);
    const auto numa_balancing = static_cast<double>(host.cpus().scheduler().numa_balancing);
    host.numa_balancing().set_period(static_cast<Ps>(numa_balancing / times));
    host.cpus().set_pace(times);
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
  // Where they have been since then they have been for so much longer.
  for (const auto& thread : simulation_.threads()) {
    const Ps hurried = now - std::max(thread->came_at, since_);
    thread->came_at -= static_cast<Ps>((times_ - 1) * static_cast<double>(hurried));
  }
}

}  // namespace rkv::sim
