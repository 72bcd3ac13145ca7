// How long caches keep what a program does not touch where programs of others use them too, as a virtual
// machine's neighbours do: from what walking an entry costs after pauses. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <span>

namespace rkv::calibration {

struct AfterPause {
  double pause_ns = 0;
  double entry_ns = 0;  // above 0
};

struct Neighbours {
  double kept_ns = 0;        // after which lines are lost, on average
  double lost_entry_ns = 0;  // what walking an entry costs then
};

// Of lines that nobody has touched for so long, the part that is lost: the model's law of three steps
// (backends/sim/cpu/memory.hpp), with x = 3 age / kept: 1 - exp(-x) (1 + x + x^2 / 2).
[[nodiscard]] double lost_part(double age_ns, double kept_ns);

// The law that comes nearest to the costs, by least squares of relative errors, with a kept_ns between the
// shortest and the longest pause; at least four costs. Nothing where entries cost less than half as much
// again when they are lost: then the pauses made no difference, and no neighbours take the caches.
[[nodiscard]] std::optional<Neighbours> neighbours_of(std::span<const AfterPause> costs);

// What an entry costs that is in the caches, where `entry_ns` is that of some whose lines have not been
// touched for so long.
[[nodiscard]] double cost_in_caches(double entry_ns, double age_ns, const Neighbours& neighbours);

}  // namespace rkv::calibration
