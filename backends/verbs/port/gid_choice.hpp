// Which of a port's GIDs to send from. On RoCE the GID's index decides the packet format and the address.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>

namespace rkv::verbs {

// InfiniBand: index 0, the port's own. RoCE: the first RoCEv2 entry that is an IPv4 address (routable, and
// what switches are set up for), else the first RoCEv2 entry, else index 0. `table`: the port's valid
// entries in any order of index.
[[nodiscard]] std::uint32_t pick_gid_index(std::uint8_t link_layer, std::span<const ibv_gid_entry> table);

}  // namespace rkv::verbs
