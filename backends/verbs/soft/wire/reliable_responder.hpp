// RC's receiving side over the wire: requests are carried out in order and once; what is missing is asked
// for, what was carried out before is acknowledged again, READs are read again and atomics answered with the
// first result.
//
// Source: InfiniBand Architecture Specification, volume 1, 9.7.4 (requests at the responder), 9.7.5
// (responses). All functions but one are called with the wire's lock held, and no lock of the queue pair.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/outbox.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

// True: the queue pair owes an acknowledgement that it didn't before; acknowledge() sends it.
[[nodiscard]] bool receive_request(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                                   Aftermath& aftermath);
// Adds the acknowledgement that is owed, if one is, to the thread's outbox.
void acknowledge(QueuePair& qp);
// The same by a sender whose outbox has packets for the peer, under the queue pair's send lock in the place
// of the wire's: the acknowledgement goes through the kernel with them.
void acknowledge_along(QueuePair& qp, Outbox& outbox);

}  // namespace rkv::soft::wire
