// What rkv-sim does: every scenario of a sweep, every point of each, and their reports.
#pragma once

#include "backends/sim/rkv_sim/options.hpp"

namespace rkv::sim {

// The program's exit code. Throws InputError before anything is started or written, rkv::Error later.
int run_sweep(const Options& options);

}  // namespace rkv::sim
