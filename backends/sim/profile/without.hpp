// Switches for factor analysis: a mechanism is taken out of a profile by setting its fields so that it costs
// nothing, and everything else stays as it was. What it changed is seen by simulating both. Thread-safe.
#pragma once

#include <span>
#include <string_view>

#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

struct Mechanism {
  std::string_view name;
  std::string_view description;  // what is left out
};

// All there are, in the order of a request's way through the models.
[[nodiscard]] std::span<const Mechanism> mechanisms();

// Throws InputError, with the names there are, when there is no such mechanism.
void switch_off(Profile& profile, std::string_view mechanism);

}  // namespace rkv::sim
