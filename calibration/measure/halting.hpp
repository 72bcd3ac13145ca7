// When an idle CPU halts, told by what it costs to wake a thread of it. Header only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace rkv::calibration {

// Of what a wake-up costs its waker after each of these times, which ascend: the first time at which it costs
// nearer to what it does after the last one than to what it does after the first. None where that is not at
// least twice as much: then waking halted CPUs costs nothing that shows.
[[nodiscard]] inline std::optional<std::size_t> first_halted(std::span<const double> cost_ns) {
  if (cost_ns.empty() || cost_ns.back() < 2 * cost_ns.front()) return std::nullopt;
  const double between_ns = (cost_ns.front() + cost_ns.back()) / 2;
  std::size_t first = 0;
  while (cost_ns[first] < between_ns) ++first;
  return first;
}

}  // namespace rkv::calibration
