// The counts of whom interrupts wake (cpu/wakees.hpp) in a window, as they go in the run that it is out of.
//
// There each count begins anew once in a period, which is a second and the tick that ends it, and always at
// the same time of it: a thread's where its client's first operations were, and clients begin one after the
// other; a CPU's with the first of them, if it has waited for them for long. On these times, and on whom it
// drew before, depends which threads are drawn to the interrupts' CPU for most of each period, and are slow
// for all of the run. A window is shorter. So the counts' clock goes faster in it: as if a period passed in
// some thousands of operations, of which the first one settles what is counted, and one or more are measured.
// That holds while each thread is drawn many times in it: not with more clients than a socket has CPUs, whose
// counts go by the world's clock and begin with the window. With fewer a window draws another thread than the
// one before, since each begins with counts of zero. So these points are sampled in fits only
// (windows_tell.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/sim/engine/simulation.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv::sim {

struct WakeesOfWindow {
  // A host each, a CPU each: a time of the run at which its count began. Empty: nobody is drawn.
  std::vector<std::vector<Ps>> cpus_began;
  Duration clients_begin_apart{0};
  Duration period{0};
  Ps now = 0;               // time of the run, as the window begins
  std::uint32_t times = 1;  // the clock goes as fast

  [[nodiscard]] Duration period_in_window() const { return period / times; }
};

// Of a run of this scenario: the CPUs' as it draws them.
[[nodiscard]] WakeesOfWindow wakees_of_window(const Profile& profile, const Scenario& scenario);
// From now on. `workers` and `clients`: threads in the order of the clients that they are of.
void begin_counts(const WakeesOfWindow& wakees, Simulation& simulation,
                  std::span<const std::unique_ptr<Thread>> workers,
                  std::span<const std::unique_ptr<Thread>> clients);

}  // namespace rkv::sim
