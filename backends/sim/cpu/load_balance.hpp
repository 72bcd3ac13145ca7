// How Linux compares CPUs since 5.5 (commit 0b0695f2b34a, "sched/fair: Rework load_balance()"): on which one
// a new thread begins, what a CPU takes over from a busier one, and whether a woken thread looks for an idle
// one. The rules are those for groups of one CPU each, as the CPUs of a socket without SMT are to each other
// (kernel/sched/fair.c; functions below are of 6.18).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/sim/cpu/load_average.hpp"

namespace rkv::sim {

// What is known of a CPU. Loads are as of now.
struct CpuLoad {
  std::size_t queued = 0;  // threads in its queue, with those that linger there and the one that runs
  LoadAverage average;
};

enum class Occupancy : std::uint8_t { spare, full, overloaded };

// group_classify(): a CPU with several threads is overloaded if they use more than 1/1.17 of it, or wait for
// so long that there are more than 1.17 of them on average.
[[nodiscard]] Occupancy occupancy(const CpuLoad& cpu);

// Whether a new thread would rather begin on the one than on the other, neither of which is its maker's
// (update_pick_idlest()).
[[nodiscard]] bool is_idler(const CpuLoad& one, const CpuLoad& other);

// Whether a new thread begins on the idlest of the other CPUs instead of its maker's
// (sched_balance_find_dst_group()): not before that has 1.17 times as much to do.
[[nodiscard]] bool begins_elsewhere(const CpuLoad& makers, const CpuLoad& idlest);

// How much load, in threads, a busy CPU takes over from the busiest, if mean is that of all CPUs
// (sched_balance_find_src_group(), calculate_imbalance()). 0: it leaves all as it is.
[[nodiscard]] double load_to_take(const CpuLoad& here, const CpuLoad& busiest, double mean);

// Whether a thread with this load is taken over when so much is to be taken and so many looks before this one
// have found something to take but no thread that they could take (detach_tasks()). One that is hot, having
// run a moment ago, stays until two have (can_migrate_task(), cache_nice_tries of CPUs with a common cache):
// threads that wake each other all the time stay together where CPUs differ by chance.
[[nodiscard]] bool is_taken(double load, double to_take, unsigned looks_in_vain, bool is_hot);

// Whether a woken thread whose CPU is busy looks for an idle one, which so many CPUs with a common cache of
// which this part is used are likely to have: it looks at
//
//   cpus x (1 - (1.17 x used)^2)
//
// of them, rounded down (SIS_UTIL, update_idle_cpu_scan(), since 6.0). Here at all or at none, and by what is
// used now, not when CPUs were last balanced. Not modelled: that a thread returns to an idle CPU that it has
// left lately (recent_used_cpu).
[[nodiscard]] bool looks_for_idle(std::size_t cpus, double used);

}  // namespace rkv::sim
