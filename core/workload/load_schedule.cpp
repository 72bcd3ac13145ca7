#include "core/workload/load_schedule.hpp"

namespace rkv {

LoadSchedule load_schedule(const Load& load, std::uint32_t client, std::uint32_t clients, Instant start) {
  const Instant first_start = start + load.connect_pause;
  const Instant own_start = first_start + client * load.start_stagger;
  LoadSchedule schedule{.start = own_start, .warm_up_end = own_start + load.warm_up};
  if (load.duration > Duration::zero()) {
    // All end together, `duration` after the last one has started and warmed up.
    schedule.end = first_start + (clients - 1) * load.start_stagger + load.warm_up + load.duration;
  }
  return schedule;
}

}  // namespace rkv
