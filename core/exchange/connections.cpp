#include "core/exchange/connections.hpp"

#include <string>

#include "core/error.hpp"

namespace rkv {

Endpoint endpoint_of(std::span<const std::unique_ptr<QueuePair>> queue_pairs) {
  Endpoint all = queue_pairs.front()->endpoint();
  for (std::size_t i = 1; i < queue_pairs.size(); ++i) {
    const Endpoint another = queue_pairs[i]->endpoint();
    all.more.push_back({.queue_pair = another.queue_pair, .packet_sequence = another.packet_sequence});
  }
  return all;
}

void connect_all(std::span<const std::unique_ptr<QueuePair>> queue_pairs, const Endpoint& peer) {
  if (peer.more.size() + 1 != queue_pairs.size()) {
    throw Error("a peer with " + std::to_string(peer.more.size() + 1) + " queue pairs a client, and " +
                std::to_string(queue_pairs.size()) + " were asked for");
  }
  queue_pairs.front()->connect(peer);
  for (std::size_t i = 1; i < queue_pairs.size(); ++i) {
    Endpoint another = peer;
    another.queue_pair = peer.more[i - 1].queue_pair;
    another.packet_sequence = peer.more[i - 1].packet_sequence;
    queue_pairs[i]->connect(another);
  }
}

Connections::Connections(Device& device, const QueuePairSpec& spec, std::uint32_t count,
                         std::uint32_t lane_depth, std::uint32_t signal_interval) {
  for (std::uint32_t i = 0; i < count; ++i) {
    queue_pairs_.push_back(device.make_queue_pair(spec));
    lanes_.emplace_back(lane_depth, signal_interval);
  }
}

void Connections::fail() {
  for (const auto& queue_pair : queue_pairs_) queue_pair->fail();
}

}  // namespace rkv
