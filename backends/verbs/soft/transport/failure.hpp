// Completing work, and what a failure does to a queue pair.
#pragma once

#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

// Moves the queue pair to the error state at once; its queues are flushed by settle(). The caller
// holds the queue pair's send or receive lock.
void fail(QueuePair& qp, Aftermath& aftermath);

// Adds a completion and notes the event of an armed queue; an overrun raises IBV_EVENT_CQ_ERR and fails
// the queue pair. The caller holds the queue pair's send lock (sends) or receive lock (receives).
void complete(QueuePair& qp, CompletionQueue& cq, const Completion& completion, bool solicited,
              Aftermath& aftermath);

// Completes a send with a status, if it is to be reported: errors always are.
void complete_send(QueuePair& qp, const SendWqe& wqe, ibv_wc_status status, Aftermath& aftermath);

// Under the send lock: completes all waiting sends as flushed.
void flush_sends(QueuePair& qp, Aftermath& aftermath);
// Under the receive lock: completes all posted receives of its own queue as flushed.
void flush_receives(QueuePair& qp, Aftermath& aftermath);

// Under both locks, in the error state: flushes both queues and, with a shared receive queue, raises
// IBV_EVENT_QP_LAST_WQE_REACHED.
void finish_failure(QueuePair& qp, Aftermath& aftermath);
// Flushes failed queue pairs and delivers events. With no lock of any queue pair held.
void settle(Aftermath& aftermath);

// Under the send lock: leaves the list of starved senders that it may be in.
void leave_starved_list(QueuePair& qp);

}  // namespace rkv::soft
