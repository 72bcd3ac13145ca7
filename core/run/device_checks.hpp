// What can't be known from a scenario alone: whether this device can do it.
#pragma once

#include <string>
#include <string_view>

#include "core/port/device.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

// Throws InputError, naming the scenario (`source`), the JSON pointer, what was asked for and what the device
// allows: a UD message over the path MTU, an inline size, max_sge, queue depths or (workload verbs) a
// completion queue beyond the device's.
void check_against_device(const Scenario& scenario, const Device& device, const std::string& source);
// The same for a device that is not open yet.
void check_against_device(const Scenario& scenario, std::string_view device, const DeviceLimits& limits,
                          const std::string& source);

}  // namespace rkv
