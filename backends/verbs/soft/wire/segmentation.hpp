// Messages in packets: SEND and RDMA WRITE, of every service.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/copy.hpp"
#include "backends/verbs/soft/transport/work_request.hpp"
#include "backends/verbs/soft/wire/outbox.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

// An empty message is a packet, too.
constexpr std::uint32_t packets_of(std::uint64_t bytes, std::uint32_t mtu_bytes) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + mtu_bytes - 1) / mtu_bytes);
}

// Fills in the operation of packet `index` of `count`, what its headers say of the message, and its payload,
// which is copied to its place in the outbox.
void fill_part(Packet& packet, const SendWqe& wqe, const Segment* segments, std::uint32_t index,
               std::uint32_t count, std::uint32_t mtu_bytes, Outbox& outbox);

}  // namespace rkv::soft::wire
