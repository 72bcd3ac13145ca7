// The profile as a scenario asks its device to be. Of as many doorbell registers as device.doorbell_registers
// says, all beyond the shared ones go to one queue pair each, as libmlx5 deals them out
// (get_num_low_lat_uuars in its mlx5.c: MLX5_TOTAL_UUARS without the 12 that are shared, 4 at least). A card
// whose queue pairs have registers of their own stays as it is.
#pragma once

#include "backends/sim/profile/profile.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

[[nodiscard]] Profile asked_profile(const Profile& profile, const Scenario& scenario);

}  // namespace rkv::sim
