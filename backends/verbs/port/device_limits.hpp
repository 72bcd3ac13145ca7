// What a device can do, asked of the device itself.
#pragma once

#include <infiniband/verbs.h>

#include <string_view>

#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

// READs that may be under way at a time in one RC queue pair.
struct ReadDepths {
  std::uint8_t posted = 1;  // by this side
  std::uint8_t served = 1;  // for its peer
};

// What peers may do to exposed memory, as ibv_reg_mr has it.
[[nodiscard]] inline unsigned exposed_access(const DeviceLimits& limits, PeerAccess access) {
  constexpr unsigned both = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  switch (access) {
    case PeerAccess::read:
      return IBV_ACCESS_REMOTE_READ;
    case PeerAccess::write:
      return IBV_ACCESS_REMOTE_WRITE;
    case PeerAccess::all:
      break;
  }
  return limits.atomics ? both | IBV_ACCESS_REMOTE_ATOMIC : both;
}

// Queries it, and finds the inline limit by creating small queue pairs (verbs has no query for it): what RC
// and UD can both do, since UD's address takes room in the work request. Throws rkv::Error.
[[nodiscard]] DeviceLimits query_limits(ibv_context* context, ibv_pd* domain, std::string_view device,
                                        const PortIdentity& identity);

// What the device allows, at most 16, which is as much as RNICs take. A peer's device is taken to serve as
// many as this one posts: nothing negotiates it. Throws rkv::Error.
[[nodiscard]] ReadDepths query_read_depths(ibv_context* context, std::string_view device);

}  // namespace rkv::verbs
