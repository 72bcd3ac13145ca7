// A short piece out of the middle of a point, simulated by itself: some of its clients go on from where they
// had come to, on a store that is put into that stage at once; the others are connected and end at once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/sim/run/sides.hpp"
#include "core/store/stand_ins.hpp"

namespace rkv::sim {

struct WindowPlan {
  // A client each: operations that it has done before. None: it does nothing.
  std::vector<std::optional<std::uint64_t>> clients;
  // As many: of the others, those that have ended and wait for the last one (load.stay_until_all_end).
  std::vector<bool> stays;
  Placement before;    // where the threads are; empty: where the operating system places new ones
  Duration begin{0};   // in this time the clients begin, each at a time of its own
  Duration moving{0};  // in which threads then move `hurry` times as often (hurried_moves.hpp)
  double hurry = 1;
  WakeesOfWindow wakees;  // counted from where the threads are placed on
  Duration settling{0};   // at their own pace again, before what is measured
  Duration measured{0};   // what is sent in this time is measured
  Duration cool_down{0};  // clients go on for so long, so that what was sent last finds them all active
};

// Simulates it. Of the scenario, what says how much is done and when is not used, and options.seed takes the
// place of its seed. Throws as simulate_point() does.
[[nodiscard]] SidesInWindow simulate_window(const Profile& profile, const Scenario& scenario,
                                            const WindowPlan& plan, const StandIns& store,
                                            const SimulationOptions& options);

}  // namespace rkv::sim
