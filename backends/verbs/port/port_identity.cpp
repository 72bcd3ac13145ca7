#include "backends/verbs/port/port_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/verbs/port/gid_choice.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

// Routers decrement it; large enough for any data centre.
constexpr std::uint8_t hop_limit = 64;

std::vector<ibv_gid_entry> gid_table(ibv_context* context, std::uint8_t port, int entries) {
  std::vector<ibv_gid_entry> table;
  for (int index = 0; index < entries; ++index) {
    ibv_gid_entry entry{};
    // Fails for entries that are not in use.
    if (::ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(index), &entry, 0) == 0) {
      table.push_back(entry);
    }
  }
  return table;
}

std::uint8_t checked_gid_index(std::string_view where, std::uint32_t index, int entries) {
  if (index > 255 || static_cast<int>(index) >= entries) {
    throw Error(fmt::format("{}: GID index {} does not exist; the port has {}", where, index, entries));
  }
  return static_cast<std::uint8_t>(index);
}

}  // namespace

PortIdentity identify_port(ibv_context* context, std::string_view device, std::uint32_t port,
                           std::optional<std::uint32_t> gid_index) {
  const std::string where = fmt::format("{} port {}", device, port);
  if (port == 0 || port > 255) throw Error(where + ": ports are numbered from 1 to 255");
  PortIdentity identity;
  identity.port = static_cast<std::uint8_t>(port);
  if (const int failure = ::ibv_query_port(context, identity.port, &identity.attributes); failure != 0) {
    throw system_error(where, "ibv_query_port", failure < 0 ? errno : failure);
  }
  identity.link_layer = identity.attributes.link_layer;
  identity.lid = identity.attributes.lid;
  identity.active_mtu = identity.attributes.active_mtu;

  const int entries = identity.attributes.gid_tbl_len;
  const std::uint32_t index =
      gid_index ? *gid_index
                : pick_gid_index(identity.link_layer, gid_table(context, identity.port, entries));
  identity.gid_index = checked_gid_index(where, index, entries);
  ibv_gid gid{};
  if (::ibv_query_gid(context, identity.port, identity.gid_index, &gid) != 0) {
    throw system_error(where, fmt::format("ibv_query_gid of index {}", index), errno);
  }
  std::copy(std::begin(gid.raw), std::end(gid.raw), identity.gid.begin());
  return identity;
}

ibv_ah_attr path_to(const PortIdentity& identity, const Endpoint& peer) {
  ibv_ah_attr path{};
  path.port_num = identity.port;
  path.dlid = peer.lid;
  if (identity.link_layer == IBV_LINK_LAYER_ETHERNET || peer.lid == 0) {
    path.is_global = 1;
    std::copy(peer.gid.begin(), peer.gid.end(), std::begin(path.grh.dgid.raw));
    path.grh.sgid_index = identity.gid_index;
    path.grh.hop_limit = hop_limit;
  }
  return path;
}

}  // namespace rkv::verbs
