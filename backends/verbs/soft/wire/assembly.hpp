// Messages from packets: SEND and RDMA WRITE, packet by packet, of RC and UC. Nothing is kept but what the
// target's memory gets: a packet's payload is placed when it comes.
//
// Under the wire's lock. The packet is the expected one: its sequence number was checked.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

bool begins_message(Operation operation);
bool ends_message(Operation operation);

// Answer::invalid_request: it doesn't fit to those before it, or to its own length.
Answer assemble(QueuePair& qp, const Packet& packet, std::uint32_t source_address, Aftermath& aftermath);

// Forgets the message of which packets came. A receive of the queue pair's own queue stays there.
void drop_partial(QueuePair& qp, Aftermath& aftermath);

}  // namespace rkv::soft::wire
