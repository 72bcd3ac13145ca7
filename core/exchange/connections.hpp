// The queue pairs of one client, at either side, and what its side posts to each: the slots of its window are
// spread over them in turn. Both sides have as many.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "core/port/device.hpp"
#include "core/posting/send_lane.hpp"

namespace rkv {

// What a peer must know of queue pairs to connect as many to them: one or more.
[[nodiscard]] Endpoint endpoint_of(std::span<const std::unique_ptr<QueuePair>> queue_pairs);
// Throws rkv::Error where the peer has not as many.
void connect_all(std::span<const std::unique_ptr<QueuePair>> queue_pairs, const Endpoint& peer);

class Connections {
 public:
  // Each with a lane of this depth. Throws rkv::Error. The device outlives it.
  Connections(Device& device, const QueuePairSpec& spec, std::uint32_t count, std::uint32_t lane_depth,
              std::uint32_t signal_interval);

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(queue_pairs_.size()); }
  // The one that this slot's messages go over.
  [[nodiscard]] std::uint32_t of_slot(std::uint32_t slot) const { return slot % count(); }
  [[nodiscard]] QueuePair& queue_pair(std::uint32_t number) { return *queue_pairs_[number]; }
  [[nodiscard]] SendLane& lane(std::uint32_t number) { return lanes_[number]; }

  [[nodiscard]] Endpoint endpoint() const { return endpoint_of(queue_pairs_); }
  void connect(const Endpoint& peer) { connect_all(queue_pairs_, peer); }
  void fail();

 private:
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::deque<SendLane> lanes_;
};

}  // namespace rkv
