#include "backends/verbs/soft/wire/reliable_requester.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "backends/verbs/soft/transport/failure.hpp"
#include "backends/verbs/soft/transport/requester.hpp"
#include "backends/verbs/soft/transport/retry_timing.hpp"
#include "backends/verbs/soft/transport/timers.hpp"
#include "backends/verbs/soft/verbs/clock.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/psn.hpp"
#include "backends/verbs/soft/wire/reliable_responder.hpp"
#include "backends/verbs/soft/wire/segmentation.hpp"

namespace rkv::soft::wire {
namespace {

// Packets that may be on their way for one queue pair. A socket's buffer holds some hundreds of them.
constexpr std::int32_t window_packets = 64;
// Who asks for no completion needs no acknowledgement soon: one in so many packets, and the timer, see to it.
constexpr std::int32_t unasked_packets_max = 16;
// An RDMA READ is asked for in pieces, so that its responses don't overrun this side's socket.
constexpr std::uint32_t read_piece_packets = 16;

constexpr unsigned syndrome_kind_shift = 5;
constexpr std::uint8_t syndrome_value_mask = 0x1f;
enum class Syndrome : std::uint8_t { acknowledged = 0, receiver_not_ready = 1, reserved = 2, refused = 3 };
enum class Refusal : std::uint8_t {
  sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operation_error = 3
};

bool awaits_response(ibv_wr_opcode opcode) {
  return is_response_scattered(opcode);
}

// Where a READ request at a packet ends: its pieces begin at multiples of their size, whatever was lost.
std::uint32_t piece_end(std::uint32_t packet, std::uint32_t packets) {
  return std::min(packets, (packet / read_piece_packets + 1) * read_piece_packets);
}

std::uint32_t cursor_psn(Requester& requester) {
  return requester.position == requester.started
             ? requester.next_psn
             : psn_add(requester.at(requester.position).first_psn, requester.packet);
}

void arm(QueuePair& qp, std::uint64_t deadline_ns) {
  Requester& requester = qp.remote->requester;
  requester.deadline_ns = deadline_ns;
  if (requester.armed_ns == 0 || deadline_ns < requester.armed_ns) {
    requester.armed_ns = deadline_ns;
    Timers::instance().arm(qp, deadline_ns);
  }
}

void restart_timer(QueuePair& qp) {
  Requester& requester = qp.remote->requester;
  const bool outstanding = cursor_psn(requester) != requester.acknowledged;
  if (!outstanding || qp.timeout == 0) {
    requester.deadline_ns = 0;
  } else {
    arm(qp, monotonic_ns() + retransmission_timeout_ns(qp.timeout));
  }
}

// Sends again from the oldest packet that was not acknowledged.
void go_back(QueuePair& qp) {
  Requester& requester = qp.remote->requester;
  requester.position = qp.backlog.head;
  requester.packet = 0;
  if (requester.position != requester.started) {
    requester.packet = static_cast<std::uint32_t>(
        psn_distance(requester.acknowledged, requester.at(requester.position).first_psn));
  }
  requester.reads_outstanding = 0;
  requester.asked = requester.acknowledged;
}

// The oldest request ends in error; the others are flushed when the locks are free.
void fail_oldest(QueuePair& qp, ibv_wc_status status, Aftermath& aftermath) {
  fail_send(qp, qp.backlog.front(), status, aftermath);
  ++qp.backlog.head;
}

// Sends what is not acknowledged once more, and asks for it to be.
void ask(QueuePair& qp, Aftermath& aftermath) {
  qp.remote->requester.asks_always = true;
  go_back(qp);
  transmit(qp, aftermath);
}

void retry(QueuePair& qp, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  if (requester.receiver_not_ready) {
    return;  // all of it is sent again at the deadline; the kernel's driver refuses what followed, too
  }
  if (qp.retries_left == 0) {
    fail_oldest(qp, IBV_WC_RETRY_EXC_ERR, aftermath);
    return;
  }
  --qp.retries_left;
  count(counters().retransmissions);
  requester.recovering = true;
  requester.deadline_ns = 0;
  ask(qp, aftermath);
}

// Unless that was done already: behind the first packet that is missing others are found missing, too.
void retry_unless_recovering(QueuePair& qp, Aftermath& aftermath) {
  if (!qp.remote->requester.recovering) {
    retry(qp, aftermath);
  }
}

void note_progress(QueuePair& qp) {
  qp.retries_left = qp.retry_cnt;
  qp.rnr_retries_left = qp.rnr_retry;
  Requester& requester = qp.remote->requester;
  requester.recovering = false;
  requester.receiver_not_ready = false;
  requester.asks_always = false;
}

void finish_oldest(QueuePair& qp, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  const InFlight& flight = requester.at(qp.backlog.head);
  requester.acknowledged = psn_add(flight.first_psn, flight.packets);
  complete_send(qp, qp.backlog.front(), IBV_WC_SUCCESS, aftermath);
  ++qp.backlog.head;
  // After going back the cursor may be on a request that was acknowledged since.
  if (static_cast<std::int32_t>(requester.position - qp.backlog.head) < 0) {
    requester.position = qp.backlog.head;
    requester.packet = 0;
  }
  if (qp.drain_notify && qp.backlog.head == requester.started &&
      qp.state.load(std::memory_order_relaxed) == IBV_QPS_SQD) {
    qp.raise(IBV_EVENT_SQ_DRAINED);
  }
}

// Everything before `psn` has arrived at the peer. False: a response among it is missing.
bool acknowledge_until(QueuePair& qp, std::uint32_t psn, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  while (qp.backlog.head != requester.started && psn_distance(psn, requester.acknowledged) > 0) {
    const InFlight& flight = requester.at(qp.backlog.head);
    if (awaits_response(qp.backlog.front().opcode)) {
      return false;
    }
    if (psn_distance(psn, psn_add(flight.first_psn, flight.packets)) < 0) {
      requester.acknowledged = psn;
      if (requester.position == qp.backlog.head) {
        requester.packet =
            std::max(requester.packet, static_cast<std::uint32_t>(psn_distance(psn, flight.first_psn)));
      }
      note_progress(qp);
      return true;
    }
    finish_oldest(qp, aftermath);
    note_progress(qp);
  }
  return true;
}

void receive_acknowledgement(QueuePair& qp, const Packet& packet, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  const std::uint8_t value = packet.syndrome & syndrome_value_mask;
  const auto kind = static_cast<Syndrome>(packet.syndrome >> syndrome_kind_shift);
  const bool arrived = kind == Syndrome::acknowledged;
  const std::uint32_t before = requester.acknowledged;
  if (!acknowledge_until(qp, psn_add(packet.sequence_number, arrived ? 1 : 0), aftermath)) {
    retry_unless_recovering(qp, aftermath);
    return;
  }
  if (arrived) {
    if (before != requester.acknowledged) {
      restart_timer(qp);
      transmit(qp, aftermath);
    }
    return;
  }
  if (packet.sequence_number != requester.acknowledged || qp.backlog.head == requester.started) {
    return;  // an old one
  }
  if (kind == Syndrome::receiver_not_ready) {
    if (requester.receiver_not_ready) {
      return;
    }
    if (qp.rnr_retries_left == 0) {
      fail_oldest(qp, IBV_WC_RNR_RETRY_EXC_ERR, aftermath);
      return;
    }
    if (qp.rnr_retry != rnr_retry_forever) {
      --qp.rnr_retries_left;
    }
    go_back(qp);
    requester.receiver_not_ready = true;
    arm(qp, monotonic_ns() + rnr_timer_ns(value));
    return;
  }
  if (kind != Syndrome::refused) {
    return;
  }
  switch (static_cast<Refusal>(value)) {
    case Refusal::sequence_error:
      retry_unless_recovering(qp, aftermath);
      return;
    case Refusal::invalid_request:
      fail_oldest(qp, IBV_WC_REM_INV_REQ_ERR, aftermath);
      return;
    case Refusal::remote_access_error:
      fail_oldest(qp, IBV_WC_REM_ACCESS_ERR, aftermath);
      return;
    case Refusal::remote_operation_error:
      fail_oldest(qp, IBV_WC_REM_OP_ERR, aftermath);
  }
}

// The oldest request in flight that awaits responses; null: there is none.
const InFlight* oldest_awaiting(QueuePair& qp) {
  Requester& requester = qp.remote->requester;
  for (std::uint32_t place = qp.backlog.head; place != requester.started; ++place) {
    if (awaits_response(qp.backlog.at(place).opcode)) {
      return &requester.at(place);
    }
  }
  return nullptr;
}

// Puts a response's data where the oldest request wants them. False: it is not the response that is due.
bool place_response(QueuePair& qp, const Packet& packet, Aftermath& aftermath) {
  const SendWqe& wqe = qp.backlog.front();
  const InFlight& flight = qp.remote->requester.at(qp.backlog.head);
  const bool atomic_response = packet.operation == Operation::atomic_acknowledge;
  std::span<const std::byte> data = packet.payload;
  if (atomic_response != is_atomic(wqe.opcode)) {
    return false;
  }
  if (atomic_response) {
    data = std::as_bytes(std::span(&packet.original, 1));
  }
  const std::uint64_t offset = std::uint64_t{flight.responses} * qp.remote->mtu_bytes;
  if (data.size() != std::min<std::uint64_t>(wqe.length_bytes - offset, qp.remote->mtu_bytes)) {
    return false;
  }
  std::array<Segment, limits::max_sge> segments;
  if (!resolve_local(qp, wqe, segments.data())) {
    fail_oldest(qp, IBV_WC_LOC_PROT_ERR, aftermath);
    return true;
  }
  const Segment source{.address = const_cast<std::byte*>(data.data()),
                       .length_bytes = static_cast<std::uint32_t>(data.size())};
  if (source.length_bytes > 0) {
    copy_segments(copy_publish, segments.data(), offset, &source, 1);
  }
  return true;
}

void receive_data(QueuePair& qp, const Packet& packet, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  const InFlight* const due = oldest_awaiting(qp);
  if (due == nullptr) {
    return;
  }
  const std::int32_t ahead = psn_distance(packet.sequence_number, psn_add(due->first_psn, due->responses));
  if (ahead != 0) {
    if (ahead > 0 && !requester.recovering) {
      acknowledge_until(qp, due->first_psn, aftermath);
      retry(qp, aftermath);
    }
    return;
  }
  acknowledge_until(qp, due->first_psn, aftermath);  // a response acknowledges what was sent before
  const std::uint32_t head = qp.backlog.head;
  if (!place_response(qp, packet, aftermath) || head != qp.backlog.head) {
    return;
  }
  InFlight& flight = requester.at(head);
  ++flight.responses;
  requester.acknowledged = psn_add(flight.first_psn, flight.responses);
  if (requester.position == head) {
    requester.packet = std::max(requester.packet, flight.responses);
  }
  if ((flight.responses == flight.packets || flight.responses % read_piece_packets == 0) &&
      requester.reads_outstanding > 0) {
    --requester.reads_outstanding;
  }
  if (flight.responses == flight.packets) {
    finish_oldest(qp, aftermath);
  }
  note_progress(qp);
  restart_timer(qp);
  transmit(qp, aftermath);
}

// One READ or atomic request, or one packet of a SEND or WRITE, at the cursor.
void send_at_cursor(QueuePair& qp, const SendWqe& wqe, const Segment* segments, Outbox& outbox) {
  Requester& requester = qp.remote->requester;
  const InFlight& flight = requester.at(requester.position);
  const std::uint32_t destination = qp.peer_address.load(std::memory_order_relaxed);
  Packet packet;
  packet.service = Service::rc;
  packet.destination = qp.dest_qpn.load(std::memory_order_relaxed);
  packet.sequence_number = psn_add(flight.first_psn, requester.packet);
  packet.remote_key = wqe.rkey;
  packet.remote_address = wqe.remote_addr;
  if (is_atomic(wqe.opcode)) {
    const bool swaps = wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    packet.operation = swaps ? Operation::compare_swap : Operation::fetch_add;
    packet.swap_or_add = swaps ? wqe.swap : wqe.compare_add;
    packet.compare = swaps ? wqe.compare_add : 0;
    ++requester.packet;
    ++requester.reads_outstanding;
  } else if (wqe.opcode == IBV_WR_RDMA_READ) {
    const std::uint32_t end = piece_end(requester.packet, flight.packets);
    const std::uint64_t from = std::uint64_t{requester.packet} * qp.remote->mtu_bytes;
    const std::uint64_t to = std::min(wqe.length_bytes, std::uint64_t{end} * qp.remote->mtu_bytes);
    packet.operation = Operation::read_request;
    packet.remote_address += from;
    packet.length = static_cast<std::uint32_t>(to - from);
    requester.packet = end;
    ++requester.reads_outstanding;
  } else {
    fill_part(packet, wqe, segments, requester.packet, flight.packets, qp.remote->mtu_bytes, outbox);
    const bool last = ++requester.packet == flight.packets;
    packet.wants_acknowledgement =
        (last && (wqe.is_signaled() || requester.asks_always || qp.timeout == 0)) ||
        psn_distance(packet.sequence_number, requester.asked) >= unasked_packets_max - 1;
  }
  const std::uint32_t behind = psn_add(flight.first_psn, requester.packet);
  // A response acknowledges what was sent before it, too.
  if (packet.wants_acknowledgement || awaits_response(wqe.opcode)) {
    requester.asked = behind;
  }
  if (psn_distance(behind, requester.sent) > 0) {
    requester.sent = behind;
  }
  outbox.add(packet, destination, &requester.faults);
}

// Whether the request at the cursor may go on its way, as far as others and the window are concerned.
bool may_send(const QueuePair& qp, const SendWqe& wqe) {
  Requester& requester = qp.remote->requester;
  if (psn_distance(cursor_psn(requester), requester.acknowledged) >= window_packets) {
    return false;
  }
  if (requester.packet == 0 && (wqe.send_flags & IBV_SEND_FENCE) != 0 && requester.reads_outstanding > 0) {
    return false;
  }
  // Where none at all is allowed, check_length() says so.
  return !awaits_response(wqe.opcode) ||
         requester.reads_outstanding < std::max<unsigned>(qp.max_rd_atomic, 1);
}

// Whether a request that has no sequence numbers yet may be started.
bool may_start(QueuePair& qp, const SendWqe& wqe) {
  if (qp.state.load(std::memory_order_acquire) != IBV_QPS_RTS) {
    return false;
  }
  if (wqe.not_before_ns != 0 && wqe.not_before_ns > monotonic_ns()) {
    Timers::instance().arm(qp, wqe.not_before_ns);
    return false;
  }
  return true;
}

// Sends what one request lets be sent; false: no more can be sent now.
bool send_request(QueuePair& qp, Outbox& outbox, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  const SendWqe& wqe = qp.backlog.at(requester.position);
  if (!may_send(qp, wqe) || (requester.position == requester.started && !may_start(qp, wqe))) {
    return false;
  }
  std::array<Segment, limits::max_sge> segments;
  ibv_wc_status status = check_length(qp, wqe);
  if (status == IBV_WC_SUCCESS && !resolve_local(qp, wqe, segments.data())) {
    status = IBV_WC_LOC_PROT_ERR;
  }
  if (status != IBV_WC_SUCCESS) {
    if (requester.position == qp.backlog.head) {
      outbox.send();
      fail_oldest(qp, status, aftermath);
    }
    return false;  // else when those before it are done
  }
  if (requester.position == requester.started) {
    const std::uint32_t packets =
        is_atomic(wqe.opcode) ? 1 : packets_of(wqe.length_bytes, qp.remote->mtu_bytes);
    requester.at(requester.position) = {.first_psn = requester.next_psn, .packets = packets, .responses = 0};
    requester.next_psn = psn_add(requester.next_psn, packets);
    ++requester.started;
  }
  const std::uint32_t packets = requester.at(requester.position).packets;
  while (requester.packet < packets && may_send(qp, wqe)) {
    send_at_cursor(qp, wqe, segments.data(), outbox);
  }
  if (requester.packet < packets) {
    return false;
  }
  ++requester.position;
  requester.packet = 0;
  return true;
}

}  // namespace

void transmit(QueuePair& qp, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
  if ((state != IBV_QPS_RTS && state != IBV_QPS_SQD) || requester.receiver_not_ready) {
    return;
  }
  Outbox& outbox = Outbox::of_this_thread();
  while (requester.position != qp.backlog.tail && send_request(qp, outbox, aftermath)) {
  }
  if (!outbox.empty()) acknowledge_along(qp, outbox);
  outbox.send();
  if (requester.deadline_ns == 0) {
    restart_timer(qp);
  }
}

void receive_response(QueuePair& qp, const Packet& packet, Aftermath& aftermath) {
  const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
  Requester& requester = qp.remote->requester;
  // Nothing may be acknowledged that was never sent.
  if ((state != IBV_QPS_RTS && state != IBV_QPS_SQD) ||
      psn_distance(packet.sequence_number, requester.acknowledged) < 0 ||
      psn_distance(packet.sequence_number, requester.sent) >= 0) {
    return;
  }
  if (packet.operation == Operation::acknowledge) {
    receive_acknowledgement(qp, packet, aftermath);
  } else {
    receive_data(qp, packet, aftermath);
  }
}

void on_deadline(QueuePair& qp, std::uint64_t now_ns, Aftermath& aftermath) {
  Requester& requester = qp.remote->requester;
  requester.armed_ns = 0;
  if (requester.deadline_ns == 0 || requester.deadline_ns > now_ns) {
    transmit(qp, aftermath);  // an injected delay may be over
    if (requester.deadline_ns != 0) {
      arm(qp, requester.deadline_ns);
    }
    return;
  }
  requester.deadline_ns = 0;
  const ibv_qp_state state = qp.state.load(std::memory_order_acquire);
  if (state != IBV_QPS_RTS && state != IBV_QPS_SQD) {
    return;
  }
  if (requester.receiver_not_ready) {
    requester.receiver_not_ready = false;
    transmit(qp, aftermath);
  } else if (psn_distance(requester.acknowledged, requester.asked) >= 0) {
    ask(qp, aftermath);
  } else {
    count(counters().timeouts);
    retry(qp, aftermath);
  }
}

void hasten(QueuePair& qp, Aftermath& aftermath) {
  const Requester& requester = qp.remote->requester;
  if (!requester.receiver_not_ready && psn_distance(requester.sent, requester.asked) > 0) {
    ask(qp, aftermath);
  }
}

bool has_begun(const QueuePair& qp) {
  return qp.backlog.head != qp.remote->requester.started;
}

}  // namespace rkv::soft::wire
