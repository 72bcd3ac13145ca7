// What a device can do, asked of the device itself.
#pragma once

#include <infiniband/verbs.h>

#include <string_view>

#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

// Queries it, and finds the inline limit by creating small queue pairs (verbs has no query for it): what RC
// and UD can both do, since UD's address takes room in the work request. Throws rkv::Error.
[[nodiscard]] DeviceLimits query_limits(ibv_context* context, ibv_pd* domain, std::string_view device,
                                        const PortIdentity& identity);

}  // namespace rkv::verbs
