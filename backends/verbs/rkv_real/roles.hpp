// What rkv-real does in each of its roles.
#pragma once

#include "backends/verbs/control/stop_signal.hpp"
#include "backends/verbs/rkv_real/options.hpp"

namespace rkv::real {

// Runs the scenario and writes its report, with a server of its own in this process or a remote one.
// Gives the exit code. Throws rkv::Error and rkv::InputError.
int run_scenario(const Options& options, const control::StopSignal& interrupt);
// Takes part in a run that another client process leads.
int join_run(const Options& options, const control::StopSignal& interrupt);
// Serves runs until it is interrupted.
int serve(const Options& options, const control::StopSignal& interrupt);

}  // namespace rkv::real
