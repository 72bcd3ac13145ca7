// RC's sending side over the wire: requests become packets, in order, and stay in the backlog until they are
// acknowledged. What is lost is sent again from the oldest packet that is not ("go back N").
//
// Source: InfiniBand Architecture Specification, volume 1, 9.7 (reliable service): 9.7.5 responses, 9.7.6
// time-outs and retries. All functions are called with the queue pair's send lock held, and leave nothing in
// the thread's outbox.
#pragma once

#include <cstdint>

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {

// Sends what may be sent now.
void transmit(QueuePair& qp, Aftermath& aftermath);
// An acknowledgement, or a response to an RDMA READ or an atomic.
void receive_response(QueuePair& qp, const Packet& packet, Aftermath& aftermath);
// The timer's call.
void on_deadline(QueuePair& qp, std::uint64_t now_ns, Aftermath& aftermath);
// Asks for acknowledgements that nobody asked for: somebody waits for what was begun to be finished.
void hasten(QueuePair& qp, Aftermath& aftermath);
// Whether a request was begun that is not finished.
bool has_begun(const QueuePair& qp);

}  // namespace rkv::soft::wire
