#include "backends/verbs/soft/transport/responder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "backends/verbs/soft/fault/torn_copy.hpp"
#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/global_route.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/memory_region.hpp"

namespace rkv::soft {
namespace {

bool accepts_messages(const QueuePair& target, const Sender& sender) {
  return target.is_receiving() && target.type == sender.type &&
         (!target.is_connected() || (target.dest_qpn.load(std::memory_order_relaxed) == sender.number &&
                                     target.peer_address.load(std::memory_order_relaxed) == sender.address));
}

// Completes a receive in error (IBA class C and E): the queue pair fails with it.
Answer fail_receive(QueuePair& target, const Receive& receive, ibv_wc_status status, Answer answer,
                    Aftermath& aftermath) {
  complete(target, *target.recv_cq,
           Completion{.wr_id = receive.wr_id,
                      .source = &target.completions,
                      .status = static_cast<std::uint8_t>(status),
                      .opcode = static_cast<std::uint8_t>(IBV_WC_RECV)},
           true, aftermath);
  fail(target, aftermath);
  return answer;
}

void note_established(QueuePair& target) {
  if (!target.communication_established && target.state.load(std::memory_order_relaxed) == IBV_QPS_RTR) {
    target.communication_established = true;
    target.raise(IBV_EVENT_COMM_EST);
  }
}

void raise_limit_event(SharedReceiveQueue& srq) {
  const std::uint32_t limit = srq.queue.limit.load(std::memory_order_relaxed);
  if (limit != 0 && srq.queue.count() < limit) {
    srq.queue.limit.store(0, std::memory_order_relaxed);
    Context::from(&*srq.ibv.context)
        ->raise(IBV_EVENT_SRQ_LIMIT_REACHED, &srq.ibv, srq.delivered_async_events);
  }
}

// Takes the next receive of a shared queue, copied: its slot may be reused at once. False: there is none.
bool take_shared(SharedReceiveQueue& srq, Receive& receive, std::array<ibv_sge, limits::max_sge>& sges) {
  const std::scoped_lock lock(srq.queue.consumer_lock);
  ReceiveWqe* const wqe = srq.queue.peek();
  if (wqe == nullptr) {
    return false;
  }
  std::copy_n(wqe->sges(), wqe->num_sge, sges.begin());
  receive = {.wr_id = wqe->wr_id, .num_sge = wqe->num_sge, .sges = sges.data(), .pd = srq.queue.pd};
  srq.queue.advance();
  raise_limit_event(srq);
  return true;
}

std::uint64_t room_bytes(const Receive& receive) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < receive.num_sge; ++i) {
    bytes += receive.sges[i].length;
  }
  return bytes;
}

// Only as many segments as the message fills are resolved and checked.
bool resolve_receive(const Receive& receive, std::uint64_t bytes, Segment* segments) {
  for (std::uint32_t i = 0; bytes > 0; ++i) {
    const ibv_sge& sge = receive.sges[i];
    std::byte* const address =
        sge.length == 0
            ? nullptr
            : KeyTable::instance().find(sge.lkey, receive.pd, sge.addr, sge.length, IBV_ACCESS_LOCAL_WRITE);
    if (address == nullptr && sge.length != 0) {
      return false;
    }
    segments[i] = {.address = address, .length_bytes = sge.length};
    bytes -= std::min<std::uint64_t>(bytes, sge.length);
  }
  return true;
}

Completion receive_completion(const QueuePair& target, const Message& message, const Receive& receive,
                              ibv_wc_opcode opcode) {
  const bool with_imm =
      message.wqe.opcode == IBV_WR_SEND_WITH_IMM || message.wqe.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  Completion completion{.wr_id = receive.wr_id,
                        .source = const_cast<CompletionSource*>(&target.completions),
                        .byte_len = static_cast<std::uint32_t>(message.wqe.length_bytes),
                        .imm_data = with_imm ? message.wqe.imm_data : 0,
                        .src_qp = message.sender.number,
                        .opcode = static_cast<std::uint8_t>(opcode),
                        .wc_flags = static_cast<std::uint8_t>(with_imm ? IBV_WC_WITH_IMM : 0)};
  if (!target.is_connected()) {
    completion.byte_len += limits::grh_bytes;
    completion.wc_flags |= IBV_WC_GRH;
    completion.sl = message.wqe.service_level;
  }
  return completion;
}

// Takes the receive that the message will use. False: there is none.
bool take_receive(QueuePair& target, Receive& receive, std::array<ibv_sge, limits::max_sge>& shared_sges) {
  if (target.srq != nullptr) {
    return take_shared(*target.srq, receive, shared_sges);
  }
  ReceiveWqe* const wqe = target.own_receives.peek();
  if (wqe == nullptr) {
    return false;
  }
  receive = {.wr_id = wqe->wr_id, .num_sge = wqe->num_sge, .sges = wqe->sges(), .pd = target.pd};
  return true;
}

// Gives the slot of a used receive back; a shared queue's was given back when it was taken.
void finish_receive(QueuePair& target) {
  if (target.srq == nullptr) {
    target.own_receives.advance();
  }
}

Answer too_long(QueuePair& target, const Receive& receive, Aftermath& aftermath) {
  if (target.type == IBV_QPT_RC || target.srq != nullptr) {
    finish_receive(target);
    return fail_receive(target, receive, IBV_WC_LOC_LEN_ERR, Answer::invalid_request, aftermath);
  }
  return Answer::none;  // IBA class D: the receive stays for the next message
}

}  // namespace

Answer refuse(QueuePair& target, Answer answer, Aftermath& aftermath) {
  if (target.type != IBV_QPT_RC) {
    return Answer::none;
  }
  const std::scoped_lock lock(target.receive_lock);
  if (target.state.load(std::memory_order_relaxed) != IBV_QPS_ERR) {
    fail(target, aftermath);
    target.raise(answer == Answer::remote_access_error ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
  }
  return answer;
}

Answer receive_send(QueuePair& target, const Message& message, Aftermath& aftermath) {
  std::array<ibv_sge, limits::max_sge> shared_sges;
  std::array<Segment, limits::max_sge> segments;
  const std::scoped_lock lock(target.receive_lock);
  if (!accepts_messages(target, message.sender)) {
    return Answer::none;
  }
  const bool datagram = !target.is_connected();
  if (datagram && message.wqe.remote_qkey != target.qkey.load(std::memory_order_relaxed)) {
    target.context->qkey_violations.fetch_add(1, std::memory_order_relaxed);
    return Answer::none;
  }
  Receive receive;
  if (!take_receive(target, receive, shared_sges)) {
    return target.type == IBV_QPT_RC ? Answer::receiver_not_ready : Answer::none;
  }
  const std::uint64_t header_bytes = datagram ? limits::grh_bytes : 0;
  const std::uint64_t bytes = message.wqe.length_bytes + header_bytes;
  if (bytes > room_bytes(receive)) {
    return too_long(target, receive, aftermath);
  }
  if (!resolve_receive(receive, bytes, segments.data())) {
    const Answer answer =
        fail_receive(target, receive, IBV_WC_LOC_PROT_ERR, Answer::remote_operation_error, aftermath);
    finish_receive(target);
    return answer;
  }
  if (datagram) {
    GlobalRouteHeader header = global_route_header(message.wqe, message.sender.address);
    const Segment header_segment{.address = header.bytes.data(), .length_bytes = limits::grh_bytes};
    copy_segments(copy_private, segments.data(), 0, &header_segment, 1);
  }
  copy_segments(copy_private, segments.data(), header_bytes, message.segments, message.segment_count);
  const Completion completion = receive_completion(target, message, receive, IBV_WC_RECV);
  finish_receive(target);
  complete(target, *target.recv_cq, completion, message.wqe.is_solicited(), aftermath);
  if (target.srq == nullptr) {
    target.own_receives.prefetch();
  }
  note_established(target);
  return Answer::acknowledged;
}

namespace {

Answer find_written(QueuePair& target, const Message& message, Segment& remote, Aftermath& aftermath) {
  if (!accepts_messages(target, message.sender)) {
    return Answer::none;
  }
  const SendWqe& wqe = message.wqe;
  if ((target.access_flags.load(std::memory_order_relaxed) & IBV_ACCESS_REMOTE_WRITE) == 0) {
    return refuse(target, Answer::invalid_request, aftermath);
  }
  const bool atomic = wqe.opcode == IBV_WR_ATOMIC_WRITE;
  if (atomic && wqe.remote_addr % sizeof(std::uint64_t) != 0) {
    return refuse(target, Answer::invalid_request, aftermath);
  }
  remote = {.address = nullptr, .length_bytes = static_cast<std::uint32_t>(wqe.length_bytes)};
  if (wqe.length_bytes > 0) {
    remote.address = KeyTable::instance().find(wqe.rkey, target.pd, wqe.remote_addr, wqe.length_bytes,
                                               IBV_ACCESS_REMOTE_WRITE);
    if (remote.address == nullptr) {
      return refuse(target, Answer::remote_access_error, aftermath);
    }
  }
  return Answer::acknowledged;
}

// Takes a receive for the immediate data; place() writes the message's bytes before it is completed.
template <typename Place>
Answer consume_immediate(QueuePair& target, const Message& message, Place place, Aftermath& aftermath) {
  std::array<ibv_sge, limits::max_sge> shared_sges;
  const std::scoped_lock lock(target.receive_lock);
  if (!accepts_messages(target, message.sender)) {
    return Answer::none;
  }
  Receive receive;
  if (!take_receive(target, receive, shared_sges)) {
    return target.type == IBV_QPT_RC ? Answer::receiver_not_ready : Answer::none;
  }
  place();
  const Completion completion = receive_completion(target, message, receive, IBV_WC_RECV_RDMA_WITH_IMM);
  finish_receive(target);
  complete(target, *target.recv_cq, completion, message.wqe.is_solicited(), aftermath);
  note_established(target);
  return Answer::acknowledged;
}

}  // namespace

Answer receive_write(QueuePair& target, const Message& message, Aftermath& aftermath) {
  Segment remote;
  if (const Answer answer = find_written(target, message, remote, aftermath);
      answer != Answer::acknowledged) {
    return answer;
  }
  const auto place = [&] {
    copy_segments(write_copy(), &remote, 0, message.segments, message.segment_count);
  };
  if (message.wqe.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    return consume_immediate(target, message, place, aftermath);
  }
  place();
  return Answer::acknowledged;
}

Answer authorize_write(QueuePair& target, const Message& whole, Aftermath& aftermath) {
  Segment remote;
  return find_written(target, whole, remote, aftermath);
}

Answer receive_immediate(QueuePair& target, const Message& whole, Aftermath& aftermath) {
  return consume_immediate(
      target, whole, [] {}, aftermath);
}

Answer receive_send_part(QueuePair& target, PartialSend& state, const Message& part, bool last,
                         Aftermath& aftermath) {
  std::array<Segment, limits::max_sge> segments;
  const std::scoped_lock lock(target.receive_lock);
  if (!accepts_messages(target, part.sender)) {
    return Answer::none;
  }
  // One of the queue pair's own queue stays there until the message is complete.
  if ((!state.begun || target.srq == nullptr) && !take_receive(target, state.receive, state.sges)) {
    return target.type == IBV_QPT_RC ? Answer::receiver_not_ready : Answer::none;
  }
  if (!state.begun) {
    state.begun = true;
    state.bytes = 0;
  }
  const std::uint64_t bytes = state.bytes + part.wqe.length_bytes;
  if (bytes > room_bytes(state.receive)) {
    state.begun = false;
    return too_long(target, state.receive, aftermath);
  }
  if (!resolve_receive(state.receive, bytes, segments.data())) {
    state.begun = false;
    const Answer answer =
        fail_receive(target, state.receive, IBV_WC_LOC_PROT_ERR, Answer::remote_operation_error, aftermath);
    finish_receive(target);
    return answer;
  }
  copy_segments(copy_private, segments.data(), state.bytes, part.segments, part.segment_count);
  state.bytes = bytes;
  if (last) {
    state.begun = false;
    Completion completion = receive_completion(target, part, state.receive, IBV_WC_RECV);
    completion.byte_len = static_cast<std::uint32_t>(bytes);
    finish_receive(target);
    complete(target, *target.recv_cq, completion, part.wqe.is_solicited(), aftermath);
    note_established(target);
  }
  return Answer::acknowledged;
}

void abandon(QueuePair& target, PartialSend& state, Aftermath& aftermath) {
  if (state.begun && target.srq != nullptr) {
    complete(target, *target.recv_cq,
             Completion{.wr_id = state.receive.wr_id,
                        .source = &target.completions,
                        .status = IBV_WC_WR_FLUSH_ERR,
                        .opcode = static_cast<std::uint8_t>(IBV_WC_RECV)},
             false, aftermath);
  }
  state.begun = false;
}

Answer check_read(const QueuePair& target, const Message& message, Segment& source) {
  if (!accepts_messages(target, message.sender)) {
    return Answer::none;
  }
  const SendWqe& wqe = message.wqe;
  if ((target.access_flags.load(std::memory_order_relaxed) & IBV_ACCESS_REMOTE_READ) == 0 ||
      target.max_dest_rd_atomic.load(std::memory_order_relaxed) == 0) {
    return Answer::invalid_request;
  }
  source = {.address = nullptr, .length_bytes = static_cast<std::uint32_t>(wqe.length_bytes)};
  if (wqe.length_bytes > 0) {
    source.address = KeyTable::instance().find(wqe.rkey, target.pd, wqe.remote_addr, wqe.length_bytes,
                                               IBV_ACCESS_REMOTE_READ);
    if (source.address == nullptr) {
      return Answer::remote_access_error;
    }
  }
  return Answer::acknowledged;
}

Answer authorize_read(QueuePair& target, const Message& message, Segment& source, Aftermath& aftermath) {
  const Answer answer = check_read(target, message, source);
  return answer == Answer::acknowledged || answer == Answer::none ? answer
                                                                  : refuse(target, answer, aftermath);
}

Answer serve_read(QueuePair& target, const Message& message, Aftermath& aftermath) {
  Segment source;
  const Answer answer = authorize_read(target, message, source, aftermath);
  if (answer == Answer::acknowledged && source.length_bytes > 0) {
    copy_segments(read_copy(), message.segments, 0, &source, 1);
  }
  return answer;
}

Answer serve_atomic(QueuePair& target, const Message& message, Aftermath& aftermath) {
  if (!accepts_messages(target, message.sender)) {
    return Answer::none;
  }
  const SendWqe& wqe = message.wqe;
  constexpr std::uint64_t operand_bytes = sizeof(std::uint64_t);
  if ((target.access_flags.load(std::memory_order_relaxed) & IBV_ACCESS_REMOTE_ATOMIC) == 0 ||
      target.max_dest_rd_atomic.load(std::memory_order_relaxed) == 0 ||
      wqe.remote_addr % operand_bytes != 0) {
    return refuse(target, Answer::invalid_request, aftermath);
  }
  std::byte* const remote = KeyTable::instance().find(wqe.rkey, target.pd, wqe.remote_addr, operand_bytes,
                                                      IBV_ACCESS_REMOTE_ATOMIC);
  if (remote == nullptr) {
    return refuse(target, Answer::remote_access_error, aftermath);
  }
  if (reinterpret_cast<std::uintptr_t>(remote) % operand_bytes != 0) {
    return refuse(target, Answer::invalid_request, aftermath);  // aligned by its I/O address only
  }
  const std::atomic_ref operand(*reinterpret_cast<std::uint64_t*>(remote));
  std::uint64_t original = wqe.compare_add;
  if (wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    operand.compare_exchange_strong(original, wqe.swap);
  } else {
    original = operand.fetch_add(wqe.compare_add);
  }
  const Segment result{.address = reinterpret_cast<std::byte*>(&original), .length_bytes = operand_bytes};
  copy_segments(copy_private, message.segments, 0, &result, 1);
  return Answer::acknowledged;
}

}  // namespace rkv::soft
