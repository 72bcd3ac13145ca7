// Whether windows can stand for a whole point (sample_point.hpp), by what decides how its threads get on.
#pragma once

#include <cstdint>

#include "backends/sim/profile/profile.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

// They cannot where there are more threads than CPUs, or more that poll than cores: threads that poll get on
// by whom they share a CPU or a core with, which is luck that lasts, and others that share CPUs by where all
// of the run before has brought them. Nor are there windows of a workload without stages.
[[nodiscard]] bool windows_tell(const Scenario& scenario, const Profile& profile, std::uint32_t clients);

// They can, but for which client is the last to end and how late, which makes up to a fifth of the
// throughput: where interrupts draw threads (cpu/wakees.hpp) they may hold one client's back for most of each
// second, and which one, and for how large a part, depends on all seconds before. That takes more clients
// than two, and no more than a socket has CPUs: with more of them waking, the interrupts' CPU draws none of
// them for long. README.md has what windows miss on the DAS-5 profile, the only one that has this.
[[nodiscard]] bool stragglers_decide(const Scenario& scenario, const Profile& profile, std::uint32_t clients);

}  // namespace rkv::sim
