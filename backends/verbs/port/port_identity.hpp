// Who a device's port is on its network: what queue pairs and address handles need to address and be
// addressed.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/port/device.hpp"

namespace rkv::verbs {

struct PortIdentity {
  std::uint8_t port = 1;
  std::uint8_t link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  std::uint16_t lid = 0;
  std::uint8_t gid_index = 0;
  std::array<std::uint8_t, 16> gid{};
  ibv_mtu active_mtu = IBV_MTU_1024;
  ibv_port_attr attributes{};
};

// Queries the port; `gid_index` overrides the choice of gid_choice.hpp. Throws rkv::Error.
[[nodiscard]] PortIdentity identify_port(ibv_context* context, std::string_view device, std::uint32_t port,
                                         std::optional<std::uint32_t> gid_index);

// The way from this port to a peer. RoCE is always addressed by GID, InfiniBand by LID where there is one.
[[nodiscard]] ibv_ah_attr path_to(const PortIdentity& identity, const Endpoint& peer);

}  // namespace rkv::verbs
