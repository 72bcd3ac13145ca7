#include "backends/verbs/soft/api/queue_pair_teardown.hpp"

#include <mutex>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/timers.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/progress.hpp"

namespace rkv::soft {
namespace {

// Takes all requests and receives out of the queues. With control held only.
void empty_queues(QueuePair& qp) {
  const std::scoped_lock send(qp.send_lock);
  leave_starved_list(qp);
  Timers::instance().cancel(qp);
  qp.stall = Stall::none;
  qp.backlog.head = qp.backlog.tail;
  qp.peer = nullptr;
  qp.faults.held.reset();
  const std::scoped_lock receive(qp.receive_lock);
  qp.communication_established = false;
  qp.remote.reset();
  const std::scoped_lock producer(qp.own_receives.producer_lock);
  while (qp.own_receives.peek() != nullptr) {
    qp.own_receives.advance();
  }
}

// Makes all places in the queues free. No completion may be left whose poll would free one once more.
void free_places(QueuePair& qp) {
  const std::scoped_lock send(qp.send_lock);
  qp.posted_sends = 0;
  qp.known_retired_sends = 0;
  qp.completions.retired_sends.store(0, std::memory_order_relaxed);
  const std::scoped_lock producer(qp.own_receives.producer_lock);
  qp.own_receives.known_retired = qp.own_receives.tail.load(std::memory_order_relaxed);
  qp.completions.retired_receives.store(qp.own_receives.known_retired, std::memory_order_relaxed);
}

void destroy(QueuePair& qp) {
  {
    const std::scoped_lock control(qp.control);
    wire::Progress::acknowledge_all();
    QueuePairTable::instance().hide(qp);
    {
      const std::scoped_lock send(qp.send_lock);
      const std::scoped_lock receive(qp.receive_lock);
      qp.state.store(IBV_QPS_RESET, std::memory_order_release);
    }
    empty(qp);
    // Those who still hold a pointer (the timer thread, a posting receiver, a failing peer) find nothing to
    // do.
    Backoff backoff;
    while (qp.pins.load(std::memory_order_acquire) != 0) {
      backoff.pause();
    }
  }
  QueuePairTable::instance().release(qp);
  ibv_qp& base = qp.base();
  const std::uint64_t events = qp.context->remove_events(qp.delivered_async_events);
  pthread_mutex_lock(&base.mutex);
  while (base.events_completed != static_cast<std::uint32_t>(events)) {
    pthread_cond_wait(&base.cond, &base.mutex);
  }
  pthread_mutex_unlock(&base.mutex);
  pthread_mutex_destroy(&base.mutex);
  pthread_cond_destroy(&base.cond);
  ProtectionDomain::from(base.pd)->users.fetch_sub(1);
  qp.send_cq->users.fetch_sub(1);
  qp.recv_cq->users.fetch_sub(1);
  if (qp.srq != nullptr) {
    qp.srq->users.fetch_sub(1);
  }
  Context* const context = qp.context;
  delete &qp;
  context->drop();
}

}  // namespace

void empty(QueuePair& qp) {
  QueuePairTable::instance().wait_for_data_path([&](QueuePair& other) {
    if (other.peer == &qp) {
      other.peer = nullptr;
      // It may starve at this one's receive queue, or at the shared one on behalf of this one.
      leave_starved_list(other);
    }
  });
  empty_queues(qp);
  qp.send_cq->remove(qp.completions);
  if (qp.recv_cq != qp.send_cq) {
    qp.recv_cq->remove(qp.completions);
  }
  free_places(qp);
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  if (!is_soft(qp->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_qp, "IBVERBS_1.1", qp);
  }
  destroy(*QueuePair::from(qp));
  return 0;
}
