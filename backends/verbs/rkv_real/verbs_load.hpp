// Points of workload verbs (core/verbs_load), whose both sides are this process.
#pragma once

#include <string>
#include <vector>

#include "backends/verbs/control/run_client.hpp"
#include "backends/verbs/rkv_real/options.hpp"

namespace rkv::real {

// Throws InputError, naming file and JSON pointer, when one of these is of workload verbs and the options put
// the sides into several processes.
void check_in_one_process(const std::vector<Scenario>& scenarios, const Options& options);

// Runs a point. An interrupt ends it early; what was measured by then is its result, and partial.
PointResult run_verbs_load_point(const Port& port, const Scenario& scenario, std::uint32_t clients,
                                 const control::StopSignal& interrupt,
                                 const control::RunClient::OnProgress& on_progress);

}  // namespace rkv::real
