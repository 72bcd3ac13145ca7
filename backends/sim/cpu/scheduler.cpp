#include "backends/sim/cpu/scheduler.hpp"

#include "backends/sim/cpu/cfs.hpp"
#include "backends/sim/cpu/eevdf.hpp"

namespace rkv::sim {

std::unique_ptr<SchedulingPolicy> make_policy(const SchedulerProfile& profile) {
  if (profile.kind == SchedulerProfile::Kind::eevdf) return std::make_unique<Eevdf>(profile);
  return std::make_unique<Cfs>(profile);
}

}  // namespace rkv::sim
