#include "backends/sim/port/sim_shared_receive_queue.hpp"

#include <fmt/format.h>

#include "backends/sim/port/post_receives.hpp"
#include "core/error.hpp"

namespace rkv::sim {

SimSharedReceiveQueue::SimSharedReceiveQueue(SimDevice& device, std::uint32_t depth)
    : device_(device), slots_(depth), lock_(device.make_queue_lock(Transport::rc)) {
  if (depth > device.limits().shared_receive_depth) {
    throw Error(fmt::format("{}: shared receive queue of {}; this device has at most {}",
                            device.device_name(), depth, device.limits().shared_receive_depth));
  }
}

int SimSharedReceiveQueue::post_receives(std::span<const ReceiveRequest> requests) {
  Thread& thread = *device_.world().current();
  if (lock_) lock_->lock(thread);
  const int refusal = post_receives_to(device_, Transport::rc, requests, [this](const ReceiveSlot& receive) {
    return device_.card().post_receive(slots_, receive);
  });
  if (lock_) lock_->unlock(thread);
  return refusal;
}

}  // namespace rkv::sim
