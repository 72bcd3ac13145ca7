// The 40 bytes in front of a received datagram, as RoCEv2 over IPv4 delivers them: the IPv4 header is in the
// last 20.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/verbs/soft/transport/work_request.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"

namespace rkv::soft {

struct GlobalRouteHeader {
  alignas(8) std::array<std::byte, limits::grh_bytes> bytes{};
};

// Of a datagram to this process from an IPv4 address, in the host's byte order.
GlobalRouteHeader global_route_header(const SendWqe& wqe, std::uint32_t source_address);

// The address to reply to a datagram with; 0, or EINVAL if the header is not one of the above.
int reply_address(const GlobalRouteHeader& header, std::uint8_t service_level, ibv_ah_attr& address);

}  // namespace rkv::soft
