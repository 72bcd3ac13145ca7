#include "backends/verbs/soft/transport/requester.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/transport/retry_timing.hpp"
#include "backends/verbs/soft/transport/timers.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/memory_region.hpp"
#include "backends/verbs/soft/verbs/queue_pair_table.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/reliable_requester.hpp"
#include "backends/verbs/soft/wire/unreliable.hpp"

namespace rkv::soft {
namespace {

constexpr std::uint64_t reorder_hold_ns = 1'000'000;

bool needs_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

std::uint32_t own_address() {
  return wire::Endpoint::instance().address();
}

// A datagram to another process is one packet of its interface.
std::uint64_t datagram_limit_bytes(const SendWqe& wqe) {
  return wqe.destination == own_address() ? limits::path_mtu_bytes
                                          : verbs::mtu_bytes(wire::Endpoint::instance().mtu());
}

bool leads_elsewhere(const QueuePair& qp, const SendWqe& wqe) {
  return qp.is_connected() ? qp.remote != nullptr
                           : wqe.destination != 0 && wqe.destination != own_address() &&
                                 wire::Endpoint::instance().has_network();
}

bool is_reliable_elsewhere(const QueuePair& qp) {
  return qp.remote != nullptr && qp.type == IBV_QPT_RC;
}

// Of this process; null: there is none.
QueuePair* find_target(QueuePair& qp, const SendWqe& wqe) {
  if (!qp.is_connected()) {
    return wqe.destination == own_address() ? QueuePairTable::instance().find(wqe.remote_qpn) : nullptr;
  }
  if (qp.peer == nullptr && qp.peer_address.load(std::memory_order_relaxed) == own_address()) {
    qp.peer = QueuePairTable::instance().find(qp.dest_qpn.load(std::memory_order_relaxed));
  }
  return qp.peer;
}

Answer deliver(QueuePair& qp, QueuePair* target, const Message& message, Aftermath& aftermath) {
  if (target == nullptr) {
    if (qp.type != IBV_QPT_RC && leads_elsewhere(qp, message.wqe)) {
      wire::send_unreliable(qp, message);
    }
    return Answer::none;
  }
  switch (message.wqe.opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_ATOMIC_WRITE:
      return receive_write(*target, message, aftermath);
    case IBV_WR_RDMA_READ:
      return serve_read(*target, message, aftermath);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return serve_atomic(*target, message, aftermath);
    default:
      return receive_send(*target, message, aftermath);
  }
}

Sender identity(const QueuePair& qp) {
  return {.type = qp.type, .number = qp.number(), .address = own_address()};
}

void release_held(QueuePair& qp, Aftermath& aftermath) {
  const std::unique_ptr<HeldMessage> held = std::move(qp.faults.held);
  const Segment segment{.address = held->data.data(),
                        .length_bytes = static_cast<std::uint32_t>(held->data.size())};
  deliver(qp, find_target(qp, held->wqe),
          Message{.wqe = held->wqe, .sender = identity(qp), .segments = &segment, .segment_count = 1},
          aftermath);
}

void hold(QueuePair& qp, const Message& message) {
  auto held = std::make_unique<HeldMessage>();
  held->wqe = message.wqe;
  held->data.resize(message.wqe.length_bytes);
  const Segment copy{.address = held->data.data(),
                     .length_bytes = static_cast<std::uint32_t>(held->data.size())};
  copy_segments(copy_private, &copy, 0, message.segments, message.segment_count);
  held->release_ns = monotonic_ns() + reorder_hold_ns;
  Timers::instance().arm(qp, held->release_ns);
  qp.faults.held = std::move(held);
}

// Delivers an unreliable message as the injected faults have it.
void deliver_with_faults(QueuePair& qp, QueuePair* target, const Message& message, Aftermath& aftermath) {
  const bool overtakes = qp.faults.held != nullptr;
  switch (qp.faults.draw_message_fault(qp.number(), !overtakes)) {
    case MessageFault::drop:
      return;
    case MessageFault::reorder:
      hold(qp, message);
      return;
    case MessageFault::duplicate:
      deliver(qp, target, message, aftermath);
      [[fallthrough]];
    case MessageFault::none:
      deliver(qp, target, message, aftermath);
  }
  if (overtakes) {
    release_held(qp, aftermath);
  }
}

void wait_until(QueuePair& qp, Stall reason, std::uint64_t deadline_ns) {
  qp.stall = reason;
  qp.stall_deadline_ns = deadline_ns;
  Timers::instance().arm(qp, deadline_ns);
}

// True: the sender waits in the target's list. False: a receive has come in between.
bool join_starved_list(QueuePair& qp, ReceiveQueue& queue) {
  const std::scoped_lock lock(queue.producer_lock);
  if (queue.count() != 0) {
    return false;
  }
  if (!qp.starved_listed) {
    QueuePair** last = &queue.starved;
    while (*last != nullptr) {
      last = &(*last)->next_starved;
    }
    *last = &qp;
    qp.next_starved = nullptr;
    qp.starved_listed = true;
  }
  qp.starved_at = &queue;
  return true;
}

enum class Attempt : std::uint8_t { finished, waits };

Attempt wait_for_receiver(QueuePair& qp, QueuePair& target, const SendWqe& wqe, Aftermath& aftermath) {
  if (qp.rnr_retries_left == 0) {
    fail_send(qp, wqe, IBV_WC_RNR_RETRY_EXC_ERR, aftermath);
    return Attempt::finished;
  }
  if (qp.rnr_retry != rnr_retry_forever) {
    --qp.rnr_retries_left;
  }
  wait_until(qp, Stall::receiver_not_ready,
             monotonic_ns() + rnr_timer_ns(target.min_rnr_timer.load(std::memory_order_relaxed)));
  return Attempt::waits;
}

Attempt wait_for_answer(QueuePair& qp, const SendWqe& wqe, Aftermath& aftermath) {
  if (qp.timeout == 0) {  // no timer: waits for ever, so look again now and then
    wait_until(qp, Stall::no_answer, monotonic_ns() + untimed_retry_ns);
    return Attempt::waits;
  }
  const bool first = qp.stall != Stall::no_answer;
  if (!first && qp.retries_left-- == 0) {
    fail_send(qp, wqe, IBV_WC_RETRY_EXC_ERR, aftermath);
    return Attempt::finished;
  }
  wait_until(qp, Stall::no_answer, monotonic_ns() + retransmission_timeout_ns(qp.timeout));
  return Attempt::waits;
}

// Carries the oldest request out. Under the send lock, in the RTS state (or finishing it while draining).
Attempt attempt(QueuePair& qp, const SendWqe& wqe, Aftermath& aftermath) {
  if (wqe.not_before_ns != 0 && wqe.not_before_ns > monotonic_ns()) {
    wait_until(qp, Stall::injected_delay, wqe.not_before_ns);
    return Attempt::waits;
  }
  std::array<Segment, limits::max_sge> segments;
  ibv_wc_status status = check_length(qp, wqe);
  if (status == IBV_WC_SUCCESS && !resolve_local(qp, wqe, segments.data())) {
    status = IBV_WC_LOC_PROT_ERR;
  }
  if (status != IBV_WC_SUCCESS) {
    fail_send(qp, wqe, status, aftermath);
    return Attempt::finished;
  }
  const Message message{
      .wqe = wqe, .sender = identity(qp), .segments = segments.data(), .segment_count = wqe.num_sge};
  QueuePair* const target = find_target(qp, wqe);
  if (qp.type != IBV_QPT_RC) {
    if (FaultStream::active()) {
      deliver_with_faults(qp, target, message, aftermath);
    } else {
      deliver(qp, target, message, aftermath);
    }
    complete_send(qp, wqe, IBV_WC_SUCCESS, aftermath);
    return Attempt::finished;
  }
  const bool forced_rnr = target != nullptr && needs_receive(wqe.opcode) && FaultStream::active() &&
                          qp.faults.draw_rnr(qp.number());
  for (;;) {
    switch (forced_rnr ? Answer::receiver_not_ready : deliver(qp, target, message, aftermath)) {
      case Answer::acknowledged:
        qp.rnr_retries_left = qp.rnr_retry;
        qp.retries_left = qp.retry_cnt;
        complete_send(qp, wqe, IBV_WC_SUCCESS, aftermath);
        return Attempt::finished;
      case Answer::none:
        return wait_for_answer(qp, wqe, aftermath);
      case Answer::receiver_not_ready:
        if (qp.rnr_retries_left != 0 && !forced_rnr && !join_starved_list(qp, *target->receives)) {
          continue;
        }
        return wait_for_receiver(qp, *target, wqe, aftermath);
      case Answer::invalid_request:
        fail_send(qp, wqe, IBV_WC_REM_INV_REQ_ERR, aftermath);
        return Attempt::finished;
      case Answer::remote_access_error:
        fail_send(qp, wqe, IBV_WC_REM_ACCESS_ERR, aftermath);
        return Attempt::finished;
      case Answer::remote_operation_error:
        fail_send(qp, wqe, IBV_WC_REM_OP_ERR, aftermath);
        return Attempt::finished;
    }
  }
}

bool is_flushing(ibv_qp_state state) {
  return state == IBV_QPS_ERR || state == IBV_QPS_SQE;
}

}  // namespace

ibv_wc_status check_length(const QueuePair& qp, const SendWqe& wqe) {
  const std::uint64_t limit = qp.type == IBV_QPT_UD ? datagram_limit_bytes(wqe) : limits::max_message_bytes;
  const bool one_word = is_atomic(wqe.opcode) || wqe.opcode == IBV_WR_ATOMIC_WRITE;
  if (wqe.length_bytes > limit || (one_word && wqe.length_bytes != atomic_bytes)) {
    return IBV_WC_LOC_LEN_ERR;
  }
  if (is_response_scattered(wqe.opcode) && qp.max_rd_atomic == 0) {
    return IBV_WC_LOC_QP_OP_ERR;
  }
  return IBV_WC_SUCCESS;
}

bool resolve_local(const QueuePair& qp, const SendWqe& wqe, Segment* segments) {
  const unsigned access = is_response_scattered(wqe.opcode) ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0U;
  for (std::uint32_t i = 0; i < wqe.num_sge; ++i) {
    const ibv_sge& sge = wqe.sges[i];
    segments[i] = {.address = reinterpret_cast<std::byte*>(sge.addr), .length_bytes = sge.length};
    if (wqe.is_inline() || sge.length == 0) {
      continue;
    }
    segments[i].address = KeyTable::instance().find(sge.lkey, qp.pd, sge.addr, sge.length, access);
    if (segments[i].address == nullptr) {
      return false;
    }
  }
  return true;
}

void fail_send(QueuePair& qp, const SendWqe& wqe, ibv_wc_status status, Aftermath& aftermath) {
  if (qp.type == IBV_QPT_RC) {
    fail(qp, aftermath);
  } else {
    ibv_qp_state expected = IBV_QPS_RTS;
    qp.state.compare_exchange_strong(expected, IBV_QPS_SQE, std::memory_order_acq_rel);
  }
  complete_send(qp, wqe, status, aftermath);
}

void submit(QueuePair& qp, SendWqe& wqe, Aftermath& aftermath) {
  const ibv_qp_state state = qp.state.load(std::memory_order_relaxed);
  if (is_flushing(state)) {
    flush_sends(qp, aftermath);
    complete_send(qp, wqe, IBV_WC_WR_FLUSH_ERR, aftermath);
  } else if (is_reliable_elsewhere(qp) || state == IBV_QPS_SQD || !qp.backlog.empty() ||
             attempt(qp, wqe, aftermath) == Attempt::waits) {
    qp.backlog.push(wqe);
  }
}

void send_submitted(QueuePair& qp, Aftermath& aftermath) {
  if (is_reliable_elsewhere(qp)) {
    wire::transmit(qp, aftermath);
  }
}

void hasten(QueuePair& qp, Aftermath& aftermath) {
  if (is_reliable_elsewhere(qp)) {
    wire::hasten(qp, aftermath);
  }
}

bool has_begun(const QueuePair& qp) {
  return is_reliable_elsewhere(qp) ? wire::has_begun(qp)
                                   : qp.stall == Stall::receiver_not_ready || qp.stall == Stall::no_answer;
}

int post_send(QueuePair& qp, ibv_send_wr* requests, ibv_send_wr** bad_request) {
  Aftermath aftermath;
  int error = 0;
  {
    const std::scoped_lock lock(qp.send_lock);
    for (ibv_send_wr* request = requests; request != nullptr; request = request->next) {
      SendWqe wqe;
      error = admit(qp, *request, wqe);
      if (error != 0) {
        *bad_request = request;
        break;
      }
      submit(qp, wqe, aftermath);
    }
    send_submitted(qp, aftermath);
  }
  if (!aftermath.empty()) {
    settle(aftermath);
  }
  return error;
}

void resume(QueuePair& qp, Aftermath& aftermath) {
  if (is_reliable_elsewhere(qp)) {
    if (is_flushing(qp.state.load(std::memory_order_acquire))) {
      flush_sends(qp, aftermath);
    } else {
      wire::transmit(qp, aftermath);
    }
    return;
  }
  // While draining, only a request that was begun is finished.
  while (!qp.backlog.empty()) {
    const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
    if (is_flushing(state)) {
      flush_sends(qp, aftermath);
      return;
    }
    if (state != IBV_QPS_RTS && !(state == IBV_QPS_SQD && has_begun(qp))) {
      return;
    }
    if (attempt(qp, qp.backlog.front(), aftermath) == Attempt::waits) {
      return;
    }
    qp.stall = Stall::none;
    leave_starved_list(qp);
    ++qp.backlog.head;
    if (state == IBV_QPS_SQD && qp.drain_notify) {
      qp.raise(IBV_EVENT_SQ_DRAINED);
    }
  }
}

void on_deadline(QueuePair& qp) {
  Aftermath aftermath;
  {
    const std::scoped_lock lock(qp.send_lock);
    const std::uint64_t now_ns = monotonic_ns();
    if (qp.faults.held != nullptr && qp.faults.held->release_ns <= now_ns) {
      release_held(qp, aftermath);
    }
    if (is_reliable_elsewhere(qp)) {
      wire::on_deadline(qp, now_ns, aftermath);
    } else if (qp.stall != Stall::none && qp.stall_deadline_ns <= now_ns) {
      resume(qp, aftermath);
    } else if (qp.stall != Stall::none) {
      Timers::instance().arm(qp, qp.stall_deadline_ns);
    }
    if (qp.faults.held != nullptr) {
      Timers::instance().arm(qp, qp.faults.held->release_ns);
    }
  }
  settle(aftermath);
}

void on_receive_posted(QueuePair& qp) {
  Aftermath aftermath;
  {
    const std::scoped_lock lock(qp.send_lock);
    if (qp.stall == Stall::receiver_not_ready) {
      // This attempt is an extra one: it costs no retry.
      if (qp.rnr_retry != rnr_retry_forever) {
        ++qp.rnr_retries_left;
      }
      resume(qp, aftermath);
    }
  }
  settle(aftermath);
}

}  // namespace rkv::soft
