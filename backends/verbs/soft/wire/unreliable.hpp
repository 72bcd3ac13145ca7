// UC and UD over the wire: messages become packets, and nobody asks what became of them.
//
// Source: InfiniBand Architecture Specification, volume 1, 9.8.2 (unreliable connections) and 9.8.3
// (datagrams).
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

// Sends a message to another process. With the queue pair's send lock held.
void send_unreliable(QueuePair& qp, const Message& message);

// A packet of UC, with its PSN; a message of which a packet is missing is dropped. Under the wire's lock.
void receive_unreliable(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                        Aftermath& aftermath);
void receive_datagram(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                      Aftermath& aftermath);

}  // namespace rkv::soft::wire
