// Posting receives, and shared receive queues.
#include <cerrno>
#include <mutex>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/api/operations.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/queue_pair.hpp"
#include "backends/verbs/soft/verbs/receive_queue.hpp"

namespace rkv::soft {
namespace {

std::atomic<std::uint32_t> next_srq_number{1};

// Takes the sender that starves longest off the queue's list, pinned, if there is a receive for it; else
// null.
QueuePair* take_starved(ReceiveQueue& queue) {
  const std::scoped_lock lock(queue.producer_lock);
  QueuePair* const first = queue.starved;
  if (first == nullptr || queue.count() == 0) {
    return nullptr;
  }
  queue.starved = first->next_starved;
  first->starved_listed = false;
  first->pin();
  return first;
}

// Lets starving senders go on. One that still finds no receive joins the list again, which then ends this.
void wake_starved(ReceiveQueue& queue) {
  while (QueuePair* const qp = take_starved(queue)) {
    on_receive_posted(*qp);
    qp->unpin();
  }
}

struct Posted {
  int error = 0;
  bool starved = false;  // senders wait for what was posted
};

// Under the producer lock.
Posted post_all(ReceiveQueue& queue, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  Posted posted;
  for (ibv_recv_wr* request = requests; request != nullptr; request = request->next) {
    posted.error = queue.post(*request);
    if (posted.error != 0) {
      *bad_request = request;
      break;
    }
  }
  posted.starved = queue.starved != nullptr;
  return posted;
}

SharedReceiveQueue* create(ibv_pd* pd, void* srq_context, ibv_srq_attr& attributes) {
  if (attributes.max_wr == 0 || attributes.max_wr > limits::max_srq_wr ||
      attributes.max_sge > limits::max_sge) {
    errno = EINVAL;
    return nullptr;
  }
  auto* const srq = new (std::nothrow) SharedReceiveQueue;
  if (srq == nullptr || !srq->queue.allocate(attributes.max_wr, attributes.max_sge, nullptr)) {
    delete srq;
    errno = ENOMEM;
    return nullptr;
  }
  srq->queue.pd = ProtectionDomain::protection_of(pd);
  srq->number = next_srq_number.fetch_add(1);
  srq->ibv.context = pd->context;
  srq->ibv.srq_context = srq_context;
  srq->ibv.pd = pd;
  pthread_mutex_init(&srq->ibv.mutex, nullptr);
  pthread_cond_init(&srq->ibv.cond, nullptr);
  ProtectionDomain::from(pd)->users.fetch_add(1);
  Context::from(pd->context)->hold();
  return srq;
}

}  // namespace

int post_recv(ibv_qp* handle, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  QueuePair& qp = *QueuePair::from(handle);
  if (qp.srq != nullptr || qp.state.load(std::memory_order_acquire) == IBV_QPS_RESET) {
    *bad_request = requests;
    return EINVAL;
  }
  Posted posted;
  bool flush = false;
  {
    const std::scoped_lock lock(qp.own_receives.producer_lock);
    posted = post_all(qp.own_receives, requests, bad_request);
    // Read after posting: see flush_receives().
    flush = qp.state.load(std::memory_order_acquire) == IBV_QPS_ERR;
  }
  if (flush) {
    Aftermath aftermath;
    {
      const std::scoped_lock lock(qp.receive_lock);
      flush_receives(qp, aftermath);
    }
    settle(aftermath);
  }
  if (posted.starved) {
    wake_starved(qp.own_receives);
  }
  return posted.error;
}

int post_srq_recv(ibv_srq* handle, ibv_recv_wr* requests, ibv_recv_wr** bad_request) {
  ReceiveQueue& queue = SharedReceiveQueue::from(handle)->queue;
  Posted posted;
  {
    const std::scoped_lock lock(queue.producer_lock);
    posted = post_all(queue, requests, bad_request);
  }
  if (posted.starved) {
    wake_starved(queue);
  }
  return posted.error;
}

// verbs.h sends every plain shared receive queue to ibv_create_srq; XRC and tag matching ones are not
// supported.
ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex*) {
  errno = EOPNOTSUPP;
  return nullptr;
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  *number = SharedReceiveQueue::from(srq)->number;
  return 0;
}

}  // namespace rkv::soft

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_create_srq, "IBVERBS_1.1", pd, attributes);
  }
  SharedReceiveQueue* const srq = create(pd, attributes->srq_context, attributes->attr);
  return srq == nullptr ? nullptr : &srq->ibv;
}

RKV_SOFT_EXPORT int ibv_modify_srq(ibv_srq* handle, ibv_srq_attr* attributes, int mask) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_modify_srq, "IBVERBS_1.1", handle, attributes, mask);
  }
  if ((mask & IBV_SRQ_MAX_WR) != 0) {
    return EOPNOTSUPP;  // the device doesn't claim IBV_DEVICE_SRQ_RESIZE
  }
  ReceiveQueue& queue = SharedReceiveQueue::from(handle)->queue;
  if ((mask & ~IBV_SRQ_LIMIT) != 0 || attributes->srq_limit > queue.max_wr) {
    return EINVAL;
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    queue.limit.store(attributes->srq_limit, std::memory_order_relaxed);
  }
  return 0;
}

RKV_SOFT_EXPORT int ibv_query_srq(ibv_srq* handle, ibv_srq_attr* attributes) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_query_srq, "IBVERBS_1.1", handle, attributes);
  }
  const ReceiveQueue& queue = SharedReceiveQueue::from(handle)->queue;
  *attributes = {.max_wr = queue.max_wr,
                 .max_sge = queue.max_sge,
                 .srq_limit = queue.limit.load(std::memory_order_relaxed)};
  return 0;
}

RKV_SOFT_EXPORT int ibv_destroy_srq(ibv_srq* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_srq, "IBVERBS_1.1", handle);
  }
  SharedReceiveQueue* const srq = SharedReceiveQueue::from(handle);
  if (srq->users.load() != 0) {
    return EBUSY;
  }
  Context* const context = Context::from(handle->context);
  const std::uint64_t events = context->remove_events(srq->delivered_async_events);
  pthread_mutex_lock(&handle->mutex);
  while (handle->events_completed != static_cast<std::uint32_t>(events)) {
    pthread_cond_wait(&handle->cond, &handle->mutex);
  }
  pthread_mutex_unlock(&handle->mutex);
  pthread_mutex_destroy(&handle->mutex);
  pthread_cond_destroy(&handle->cond);
  ProtectionDomain::from(handle->pd)->users.fetch_sub(1);
  delete srq;
  context->drop();
  return 0;
}
