// Points simulated some at a time, each in a process of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/sim/run/point_process.hpp"

namespace rkv::sim {

// Runs all jobs, at most `at_a_time` of them at once, and gives their results in the order of the jobs.
// `waiting` is called several times a second with how many are done; when it gives false, those under way are
// ended early and the others not started: their results are partial, as are those of points that failed.
// The process must have one thread, and SimGrid must not have been started in it.
[[nodiscard]] std::vector<PointResult> run_points(const std::vector<PointJob>& jobs, std::size_t at_a_time,
                                                  const std::function<bool(std::size_t done)>& waiting);

}  // namespace rkv::sim
