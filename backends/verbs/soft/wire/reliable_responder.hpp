// RC's receiving side over the wire: requests are carried out in order and once; what is missing is asked
// for, what was carried out before is acknowledged again, READs are read again and atomics answered with the
// first result.
//
// Source: InfiniBand Architecture Specification, volume 1, 9.7.4 (requests at the responder), 9.7.5
// (responses). All functions are called with the wire's lock held, and no lock of the queue pair.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

// True: the queue pair owes an acknowledgement that it didn't before; acknowledge() sends it.
[[nodiscard]] bool receive_request(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                                   Aftermath& aftermath);
// Adds the acknowledgement of all that was carried out to the thread's outbox.
void acknowledge(QueuePair& qp);

}  // namespace rkv::soft::wire
