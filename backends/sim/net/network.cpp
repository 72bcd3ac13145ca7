#include "backends/sim/net/network.hpp"

#include <algorithm>
#include <cmath>

namespace rkv::sim {

Network::Network(World& world, const NetworkProfile& profile, std::vector<Cable> cables, Flow flow)
    : world_(world),
      profile_(profile),
      cables_(std::move(cables)),
      flow_(std::move(flow)),
      out_(cables_.size()),
      in_(cables_.size()) {}

std::uint64_t Network::packets(std::uint64_t payload_bytes) const {
  return std::max<std::uint64_t>((payload_bytes + profile_.mtu_bytes - 1) / profile_.mtu_bytes, 1);
}

Ps Network::send(std::uint32_t from, std::uint32_t to, std::uint64_t payload_bytes,
                 std::uint32_t header_bytes, EventHandler& handler, std::uint64_t tag) {
  const Ps now = world_.now();
  if (from == to) {
    world_.at(now, handler, tag);
    return now;
  }
  const std::uint64_t bytes = payload_bytes + packets(payload_bytes) * header_bytes;
  const auto passing = [bytes](const Cable& cable) {
    return static_cast<Ps>(std::llround(static_cast<double>(bytes) * cable.ps_per_byte));
  };
  Direction& first = out_[from];
  const Ps start = std::max(now, first.free_at);
  first.free_at = start + passing(cables_[from]);
  if (profile_.flow_bytes > 0 && payload_bytes >= profile_.flow_bytes) {
    flow_(from, to, bytes, handler, tag);
    return first.free_at;
  }
  Ps arrival = first.free_at + cables_[from].latency;
  if (profile_.switch_latency > 0) {
    Direction& second = in_[to];
    const Ps first_byte = start + cables_[from].latency + profile_.switch_latency;
    const Ps last_byte = arrival + profile_.switch_latency;
    second.free_at = std::max({first_byte, second.free_at}) + passing(cables_[to]);
    second.free_at = std::max(second.free_at, last_byte);
    arrival = second.free_at + cables_[to].latency;
  }
  world_.spent().add(Spent::wire, arrival - now);
  world_.at(arrival, handler, tag);
  return first.free_at;
}

bool Network::perfect() const {
  return profile_.loss <= 0 && profile_.duplicate <= 0 && profile_.reorder <= 0;
}

Network::Fate Network::draw_fate(std::uint64_t payload_bytes) {
  Fate fate;
  if (perfect()) return fate;
  for (std::uint64_t packet = packets(payload_bytes); packet > 0; --packet) {
    if (world_.rng().unit() < profile_.loss) fate.lost = true;
  }
  fate.duplicated = world_.rng().unit() < profile_.duplicate;
  if (world_.rng().unit() < profile_.reorder) {
    fate.delay = 1 + static_cast<Ps>(world_.rng().unit() * static_cast<double>(profile_.reorder_delay));
  }
  return fate;
}

}  // namespace rkv::sim
