// Receives posted by one call, as the program pays for them.
#pragma once

#include <cerrno>
#include <span>

#include "backends/sim/cpu/thread.hpp"
#include "backends/sim/port/sim_device.hpp"
#include "backends/sim/port/sim_memory_region.hpp"

namespace rkv::sim {

// post: int(const ReceiveSlot&), the card's. Costs `post_receive`, and `receive_chained` for each request
// behind the first. 0, or the errno of the refusal.
template <typename Post>
[[nodiscard]] int post_receives_to(const SimDevice& device, Transport transport,
                                   std::span<const ReceiveRequest> requests, const Post& post) {
  if (requests.empty() || requests.size() > most_chained) return EINVAL;
  Thread& thread = *device.world().current();
  const VerbsProfile& costs = device.host().verbs(transport);
  const Ps cost = costs.post_receive + static_cast<Ps>(requests.size() - 1) * costs.receive_chained;
  for (const ReceiveRequest& request : requests) {
    ReceiveSlot slot{.id = request.id, .visible_from = device.world().now() + thread.recorded() + cost};
    if (request.length > 0) {
      const auto& region = static_cast<const SimMemoryRegion&>(*request.region);
      if (!region.holds(request.offset, request.length)) return EINVAL;
      slot.bytes = region.bytes().subspan(request.offset, request.length).data();
      slot.length = request.length;
      slot.address = region.address(request.offset);
    }
    if (const int refusal = post(slot); refusal != 0) return refusal;
  }
  thread.spend(cost, Spent::post);
  return 0;
}

}  // namespace rkv::sim
