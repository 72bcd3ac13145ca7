// From samples to a profile: which figure goes into which field, and what is known of the others. Pure;
// thread-safe.
#pragma once

#include "backends/sim/profile/profile.hpp"
#include "calibration/measure/findings.hpp"
#include "calibration/measure/machine.hpp"
#include "calibration/measure/sample.hpp"

namespace rkv::calibration {

// A figure that comes out as 0 or less is not taken: a difference that the noise has swallowed. Fields of the
// base that nothing was measured for keep their value. `soft`: the device is soft0; else a card, whose own
// times cannot be told from outside.
[[nodiscard]] Findings conclude(const Samples& samples, const MachineFacts& machine, bool soft,
                                const sim::Profile& base);

}  // namespace rkv::calibration
