// Receives that RC queue pairs of a simulated card have in common.
#pragma once

#include <memory>

#include "backends/sim/cpu/spin_lock.hpp"
#include "backends/sim/nic/receive_slots.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimDevice;

class SimSharedReceiveQueue final : public SharedReceiveQueue {
 public:
  // Throws rkv::Error when the device can't have it so.
  SimSharedReceiveQueue(SimDevice& device, std::uint32_t depth);

  [[nodiscard]] ReceiveSlots& slots() { return slots_; }
  // Costs what as many receives of a queue pair do, and what its lock does (profile: lock_hand_over_ns): the
  // threads that post to it take turns.
  [[nodiscard]] int post_receives(std::span<const ReceiveRequest> requests) override;

 private:
  SimDevice& device_;
  ReceiveSlots slots_;
  std::unique_ptr<SpinLock> lock_;  // null: not modelled
};

}  // namespace rkv::sim
