#include "backends/verbs/soft/transport/failure.hpp"

#include <mutex>

#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/wire/connection.hpp"

namespace rkv::soft {
namespace {

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_ATOMIC_WRITE:
      return IBV_WC_ATOMIC_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

}  // namespace

void fail(QueuePair& qp, Aftermath& aftermath) {
  if (qp.state.exchange(IBV_QPS_ERR, std::memory_order_acq_rel) != IBV_QPS_ERR) {
    aftermath.add_failure(qp);
  }
}

void complete(QueuePair& qp, CompletionQueue& cq, const Completion& completion, bool solicited,
              Aftermath& aftermath) {
  switch (cq.push(completion, solicited)) {
    case PushResult::queued:
      return;
    case PushResult::queued_and_notify:
      aftermath.add_event(cq);
      return;
    case PushResult::overrun_now:
      Context::from(cq.ibv.context)
          ->raise(IBV_EVENT_CQ_ERR, reinterpret_cast<ibv_cq*>(&cq.ibv), cq.delivered_async_events);
      [[fallthrough]];
    case PushResult::overrun_before:
      fail(qp, aftermath);
  }
}

void complete_send(QueuePair& qp, const SendWqe& wqe, ibv_wc_status status, Aftermath& aftermath) {
  if (status == IBV_WC_SUCCESS && !wqe.is_signaled()) {
    return;
  }
  complete(qp, *qp.send_cq,
           Completion{.wr_id = wqe.wr_id,
                      .source = &qp.completions,
                      .byte_len = static_cast<std::uint32_t>(wqe.length_bytes),
                      .send_end = wqe.send_end,
                      .status = static_cast<std::uint8_t>(status),
                      .opcode = static_cast<std::uint8_t>(completion_opcode(wqe.opcode))},
           false, aftermath);
}

void flush_sends(QueuePair& qp, Aftermath& aftermath) {
  leave_starved_list(qp);
  qp.stall = Stall::none;
  for (; !qp.backlog.empty(); ++qp.backlog.head) {
    complete_send(qp, qp.backlog.front(), IBV_WC_WR_FLUSH_ERR, aftermath);
  }
}

void flush_receives(QueuePair& qp, Aftermath& aftermath) {
  if (qp.srq != nullptr) {
    return;
  }
  // Excludes a post that has not yet seen the error state: such a one flushes its own receive afterwards.
  const std::scoped_lock lock(qp.own_receives.producer_lock);
  while (const ReceiveWqe* const wqe = qp.own_receives.peek()) {
    const Completion flushed{.wr_id = wqe->wr_id,
                             .source = &qp.completions,
                             .status = IBV_WC_WR_FLUSH_ERR,
                             .opcode = static_cast<std::uint8_t>(IBV_WC_RECV)};
    qp.own_receives.advance();
    complete(qp, *qp.recv_cq, flushed, false, aftermath);
  }
}

void finish_failure(QueuePair& qp, Aftermath& aftermath) {
  flush_sends(qp, aftermath);
  flush_receives(qp, aftermath);
  if (qp.remote != nullptr) {
    abandon(qp, qp.remote->responder.send, aftermath);
  }
  if (qp.srq != nullptr) {
    qp.raise(IBV_EVENT_QP_LAST_WQE_REACHED);
  }
}

void settle(Aftermath& aftermath) {
  while (QueuePair* const qp = aftermath.take_failure()) {
    {
      const std::scoped_lock send(qp->send_lock);
      const std::scoped_lock receive(qp->receive_lock);
      // It may have been reset since.
      if (qp->state.load(std::memory_order_relaxed) == IBV_QPS_ERR) {
        finish_failure(*qp, aftermath);
      }
    }
    qp->unpin();
  }
  aftermath.deliver_events();
}

void leave_starved_list(QueuePair& qp) {
  if (qp.starved_at == nullptr) {
    return;
  }
  const std::scoped_lock lock(qp.starved_at->producer_lock);
  if (qp.starved_listed) {
    QueuePair** link = &qp.starved_at->starved;
    while (*link != &qp) {
      link = &(*link)->next_starved;
    }
    *link = qp.next_starved;
    qp.starved_listed = false;
  }
  qp.starved_at = nullptr;
}

}  // namespace rkv::soft
