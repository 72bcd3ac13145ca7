#include "backends/sim/run/asked_profile.hpp"

#include <algorithm>

namespace rkv::sim {

Profile asked_profile(const Profile& profile, const Scenario& scenario) {
  Profile asked = profile;
  NicProfile& nic = asked.nic;
  const std::uint32_t registers = scenario.device.doorbell_registers.value_or(0);
  if (nic.shared_doorbells > 0 && registers > nic.shared_doorbells) {
    nic.private_doorbells = std::max(nic.private_doorbells, registers - nic.shared_doorbells);
  }
  return asked;
}

}  // namespace rkv::sim
