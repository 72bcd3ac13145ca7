// Turns a refused system or verbs call into an rkv::Error that says what, where, why and what to do.
#pragma once

#include <string_view>

#include "core/error.hpp"

namespace rkv::verbs {

// "<where>: <call> failed: <errno text> (<hint>)". `where` is a device, an address or a thread's name.
[[nodiscard]] Error system_error(std::string_view where, std::string_view call, int error_number);

}  // namespace rkv::verbs
