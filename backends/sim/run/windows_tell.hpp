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

// They can, but for what depends on all of the run before, and makes more than a hundredth of its figures:
//
// Where interrupts draw the threads of more than two clients, how each gets on is decided by counts that
// begin anew each second (cpu/wakees.hpp). Of few clients one may be held back for most of each second, for
// all of the run, and makes up to a fifth of the throughput. More clients than a socket has CPUs differ by
// 2 %, by when in the second they began. Windows are shorter than that; long enough they are no less than the
// run.
//
// Where clients that poll wait for their turn at a card they go in step, until walks that differ put them out
// of it, after which both cards are idle at times. That takes longer the longer the round of all clients is,
// and windows, which begin out of step, do not find back into it.
//
// README.md has what windows miss on the DAS-5 profile, the only one that has either.
[[nodiscard]] bool history_decides(const Scenario& scenario, const Profile& profile, std::uint32_t clients);

}  // namespace rkv::sim
