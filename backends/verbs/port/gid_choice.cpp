#include "backends/verbs/port/gid_choice.hpp"

#include <algorithm>
#include <array>

namespace rkv::verbs {
namespace {

bool is_ipv4_mapped(const ibv_gid& gid) {
  constexpr std::array<std::uint8_t, 12> prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(prefix.begin(), prefix.end(), gid.raw);
}

// Lower is better.
int rank(const ibv_gid_entry& entry) {
  if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) return 2;
  return is_ipv4_mapped(entry.gid) ? 0 : 1;
}

}  // namespace

std::uint32_t pick_gid_index(std::uint8_t link_layer, std::span<const ibv_gid_entry> table) {
  if (link_layer != IBV_LINK_LAYER_ETHERNET || table.empty()) return 0;
  const auto best = std::min_element(table.begin(), table.end(), [](const auto& a, const auto& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.gid_index < b.gid_index;
  });
  return rank(*best) < 2 ? best->gid_index : 0;
}

}  // namespace rkv::verbs
