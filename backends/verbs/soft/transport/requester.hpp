// The sending side: carries posted requests out in order, at once where it can, later where it must wait.
//
// A request is carried out by the posting thread. Only when its message can't go on (the receiver has no
// receive ready, the peer doesn't answer, a delay is injected, the send queue is being drained) do it and all
// later ones wait in the backlog, which is then worked off by whoever ends the wait: the timer thread, a
// thread that posts the missing receive, or one that modifies the queue pair.
#pragma once

#include <infiniband/verbs.h>

#include "backends/verbs/soft/transport/admission.hpp"
#include "backends/verbs/soft/transport/aftermath.hpp"
#include "backends/verbs/soft/transport/copy.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"

namespace rkv::soft {

// ibv_post_send.
int post_send(QueuePair& qp, ibv_send_wr* requests, ibv_send_wr** bad_request);

// Carries an admitted request out, or queues it. Under the send lock.
void submit(QueuePair& qp, SendWqe& wqe, Aftermath& aftermath);

// Under the send lock, when all of a list were submitted: lets those go that wait for nothing else.
void send_submitted(QueuePair& qp, Aftermath& aftermath);

// Under the send lock, while draining: what was begun and waits for nothing but to be asked for is finished
// soon.
void hasten(QueuePair& qp, Aftermath& aftermath);
// Whether a request was begun that is not finished. Under the send lock.
bool has_begun(const QueuePair& qp);

// The local rules that a request may break when it is carried out; IBV_WC_SUCCESS if it breaks none.
ibv_wc_status check_length(const QueuePair& qp, const SendWqe& wqe);
// Turns the request's list into addresses. False: a key, its rights or its bounds don't allow it.
bool resolve_local(const QueuePair& qp, const SendWqe& wqe, Segment* segments);
// A send in error: a reliable queue pair fails, an unreliable one stops sending only (IBA 10.3.1.6).
void fail_send(QueuePair& qp, const SendWqe& wqe, ibv_wc_status status, Aftermath& aftermath);

// Under the send lock: works the backlog off, as far as it goes.
void resume(QueuePair& qp, Aftermath& aftermath);
// From the timer thread, pinned, with no lock held.
void on_deadline(QueuePair& qp);
// The queues at which this one starved got a receive. Pinned, with no lock held.
void on_receive_posted(QueuePair& qp);

}  // namespace rkv::soft
