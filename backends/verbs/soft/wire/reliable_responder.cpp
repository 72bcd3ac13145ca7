#include "backends/verbs/soft/wire/reliable_responder.hpp"

#include <algorithm>

#include "backends/verbs/soft/transport/responder.hpp"
#include "backends/verbs/soft/wire/assembly.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/psn.hpp"
#include "backends/verbs/soft/wire/segmentation.hpp"

namespace rkv::soft::wire {
namespace {

// Syndromes of the acknowledge header (IBA vol. 1, table 45). No credits are counted.
constexpr std::uint8_t acknowledged_without_credits = 0x1f;
constexpr std::uint8_t receiver_not_ready = 0x20;  // with the timer's code
constexpr std::uint8_t sequence_error = 0x60;
constexpr std::uint8_t invalid_request = 0x61;
constexpr std::uint8_t remote_access_error = 0x62;
constexpr std::uint8_t remote_operation_error = 0x63;

Packet response(const QueuePair& qp, Operation operation, std::uint32_t psn, std::uint8_t syndrome) {
  Packet packet;
  packet.operation = operation;
  packet.destination = qp.dest_qpn.load(std::memory_order_relaxed);
  packet.sequence_number = psn;
  packet.syndrome = syndrome;
  packet.message_number = qp.remote->responder.message_number;
  return packet;
}

// An acknowledgement in a word: its sequence number, the message number, and a bit that is always set.
constexpr unsigned message_number_shift = 24;
constexpr std::uint64_t is_owed = std::uint64_t{1} << 63;

// Of all that was carried out.
std::uint64_t owed_now(const Responder& responder) {
  return is_owed | std::uint64_t{responder.message_number} << message_number_shift |
         psn_add(responder.expected_psn, psn_mask);
}

// True: nothing was owed before.
bool owe(Responder& responder) {
  return responder.owed.exchange(owed_now(responder), std::memory_order_relaxed) == 0;
}

Packet acknowledgement(const QueuePair& qp, std::uint64_t owed) {
  Packet packet;
  packet.operation = Operation::acknowledge;
  packet.destination = qp.dest_qpn.load(std::memory_order_relaxed);
  packet.sequence_number = owed & psn_mask;
  packet.syndrome = acknowledged_without_credits;
  packet.message_number = owed >> message_number_shift & psn_mask;
  return packet;
}

void add(QueuePair& qp, const Packet& packet) {
  Outbox::of_this_thread().add(packet, qp.peer_address.load(std::memory_order_relaxed),
                               &qp.remote->responder.faults);
}

void answer_now(QueuePair& qp, std::uint32_t psn, std::uint8_t syndrome) {
  add(qp, response(qp, Operation::acknowledge, psn, syndrome));
  Outbox::of_this_thread().send();
}

Sender peer_of(const QueuePair& qp, std::uint32_t source_address) {
  return {
      .type = IBV_QPT_RC, .number = qp.dest_qpn.load(std::memory_order_relaxed), .address = source_address};
}

std::uint32_t packets_taken(const QueuePair& qp, const Packet& packet) {
  return packet.operation == Operation::read_request ? packets_of(packet.length, qp.remote->mtu_bytes) : 1;
}

Operation read_operation(std::uint32_t index, std::uint32_t count) {
  if (count == 1) return Operation::read_response_only;
  if (index == 0) return Operation::read_response_first;
  return index + 1 == count ? Operation::read_response_last : Operation::read_response_middle;
}

void send_data(QueuePair& qp, const Packet& request, const Segment& source) {
  const std::uint32_t mtu_bytes = qp.remote->mtu_bytes;
  const std::uint32_t packets = packets_taken(qp, request);
  Outbox& outbox = Outbox::of_this_thread();
  for (std::uint32_t i = 0; i < packets; ++i) {
    Packet part = response(qp, read_operation(i, packets), psn_add(request.sequence_number, i),
                           acknowledged_without_credits);
    const std::size_t offset = std::size_t{i} * mtu_bytes;
    const std::size_t bytes = std::min<std::size_t>(request.length - offset, mtu_bytes);
    std::byte* const place = outbox.payload_place(Service::rc, part.operation);
    if (bytes > 0) {
      copy_observe(place, source.address + offset, bytes);
    }
    part.payload = {place, bytes};
    add(qp, part);
  }
  outbox.send();
}

// `check` says whether the request may be carried out, and where its data lie.
template <typename Check>
Answer serve_read_request(QueuePair& qp, const Packet& packet, std::uint32_t source_address, Check check) {
  SendWqe wqe;
  wqe.opcode = IBV_WR_RDMA_READ;
  wqe.remote_addr = packet.remote_address;
  wqe.rkey = packet.remote_key;
  wqe.length_bytes = packet.length;
  const Message message{
      .wqe = wqe, .sender = peer_of(qp, source_address), .segments = nullptr, .segment_count = 0};
  Segment source;
  const Answer answer = check(message, source);
  if (answer == Answer::acknowledged) {
    send_data(qp, packet, source);
  }
  return answer;
}

void send_atomic_result(QueuePair& qp, std::uint32_t psn, std::uint64_t original) {
  Packet packet = response(qp, Operation::atomic_acknowledge, psn, acknowledged_without_credits);
  packet.original = original;
  add(qp, packet);
  Outbox::of_this_thread().send();
}

Answer serve_atomic_request(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                            Aftermath& aftermath) {
  const bool swaps = packet.operation == Operation::compare_swap;
  SendWqe wqe;
  wqe.opcode = swaps ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
  wqe.remote_addr = packet.remote_address;
  wqe.rkey = packet.remote_key;
  wqe.length_bytes = sizeof(std::uint64_t);
  wqe.compare_add = swaps ? packet.compare : packet.swap_or_add;
  wqe.swap = swaps ? packet.swap_or_add : 0;
  std::uint64_t original = 0;
  const Segment result{.address = reinterpret_cast<std::byte*>(&original), .length_bytes = sizeof original};
  const Answer answer = serve_atomic(
      qp, Message{.wqe = wqe, .sender = peer_of(qp, source_address), .segments = &result, .segment_count = 1},
      aftermath);
  if (answer != Answer::acknowledged) return answer;
  Responder& responder = qp.remote->responder;
  responder.results[responder.next_result] = {
      .psn = packet.sequence_number, .valid = true, .original = original};
  responder.next_result = (responder.next_result + 1) % responder.results.size();
  responder.message_number = psn_add(responder.message_number, 1);
  send_atomic_result(qp, packet.sequence_number, original);
  return answer;
}

// A request that was carried out before: its answer was lost, or it came twice.
bool answer_again(QueuePair& qp, const Packet& packet, std::uint32_t source_address) {
  Responder& responder = qp.remote->responder;
  count(counters().duplicates);
  switch (packet.operation) {
    case Operation::read_request: {
      const std::uint32_t end = psn_add(packet.sequence_number, packets_taken(qp, packet));
      if (packet.length <= limits::max_message_bytes && psn_distance(end, responder.expected_psn) <= 0) {
        // What may not be read any more is not, and nothing else happens: the request may be an old one.
        serve_read_request(qp, packet, source_address, [&](const Message& message, Segment& source) {
          return check_read(qp, message, source);
        });
      }
      return false;
    }
    case Operation::compare_swap:
    case Operation::fetch_add:
      // The newest first: sequence numbers come again.
      for (std::size_t back = 1; back <= responder.results.size(); ++back) {
        const AtomicResult& each =
            responder.results[(responder.next_result + responder.results.size() - back) %
                              responder.results.size()];
        if (each.valid && each.psn == packet.sequence_number) {
          send_atomic_result(qp, packet.sequence_number, each.original);
          break;
        }
      }
      return false;
    default:
      return owe(responder);
  }
}

bool takes_receive(Operation operation) {
  switch (operation) {
    case Operation::send_first:
    case Operation::send_only:
    case Operation::send_only_immediate:
    case Operation::write_last_immediate:
    case Operation::write_only_immediate:
      return true;
    default:
      return false;
  }
}

Answer carry_out(QueuePair& qp, const Packet& packet, std::uint32_t source_address, Aftermath& aftermath) {
  Responder& responder = qp.remote->responder;
  if (packet.operation <= Operation::write_only_immediate) {
    return assemble(qp, packet, source_address, aftermath);
  }
  if (responder.partial != PartialMessage::none) {
    return Answer::invalid_request;
  }
  if (packet.operation == Operation::read_request) {
    if (packet.length > limits::max_message_bytes) return Answer::invalid_request;
    // The response carries the number of messages with this one.
    responder.message_number = psn_add(responder.message_number, 1);
    const Answer answer =
        serve_read_request(qp, packet, source_address, [&](const Message& message, Segment& source) {
          return authorize_read(qp, message, source, aftermath);
        });
    if (answer != Answer::acknowledged)
      responder.message_number = psn_add(responder.message_number, psn_mask);
    return answer;
  }
  return serve_atomic_request(qp, packet, source_address, aftermath);
}

// The sender broke a rule of the packets' order or lengths, which no other part of the device has noticed.
void fail_by_request(QueuePair& qp, Aftermath& aftermath) {
  refuse(qp, Answer::invalid_request, aftermath);
}

}  // namespace

bool receive_request(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                     Aftermath& aftermath) {
  Responder& responder = qp.remote->responder;
  const std::int32_t ahead = psn_distance(packet.sequence_number, responder.expected_psn);
  if (ahead < 0) {
    return answer_again(qp, packet, source_address);
  }
  if (ahead > 0) {
    count(counters().out_of_sequence);
    if (!std::exchange(responder.refused, true)) {
      answer_now(qp, responder.expected_psn, sequence_error);
    }
    return false;
  }
  responder.refused = false;
  const std::uint32_t psn = packet.sequence_number;
  const bool forced = FaultStream::active() && takes_receive(packet.operation) &&
                      responder.faults.stream.draw_rnr(responder.faults.stream_number);
  switch (forced ? Answer::receiver_not_ready : carry_out(qp, packet, source_address, aftermath)) {
    case Answer::acknowledged:
      break;
    case Answer::none:
      return false;
    case Answer::receiver_not_ready:
      responder.refused = true;  // what follows is dropped until this one comes again
      answer_now(
          qp, psn,
          static_cast<std::uint8_t>(receiver_not_ready | qp.min_rnr_timer.load(std::memory_order_relaxed)));
      return false;
    case Answer::invalid_request:
      fail_by_request(qp, aftermath);
      answer_now(qp, psn, invalid_request);
      return false;
    case Answer::remote_access_error:
      answer_now(qp, psn, remote_access_error);
      return false;
    case Answer::remote_operation_error:
      answer_now(qp, psn, remote_operation_error);
      return false;
  }
  responder.expected_psn = psn_add(psn, packets_taken(qp, packet));
  if (packet.operation > Operation::write_only_immediate) {
    return false;  // answered
  }
  if (ends_message(packet.operation)) {
    responder.message_number = psn_add(responder.message_number, 1);
  }
  return packet.wants_acknowledgement && owe(responder);
}

void acknowledge(QueuePair& qp) {
  if (qp.remote->responder.owed.exchange(0, std::memory_order_relaxed) == 0) return;
  add(qp, acknowledgement(qp, owed_now(qp.remote->responder)));  // that may be more than was owed
}

void acknowledge_along(QueuePair& qp, Outbox& outbox) {
  std::atomic<std::uint64_t>& owed = qp.remote->responder.owed;
  // What befalls the responder's packets is drawn under the wire's lock.
  if (owed.load(std::memory_order_relaxed) == 0 || FaultStream::active()) return;
  const std::uint64_t taken = owed.exchange(0, std::memory_order_relaxed);
  if (taken == 0) return;
  outbox.add(acknowledgement(qp, taken), qp.peer_address.load(std::memory_order_relaxed));
}

}  // namespace rkv::soft::wire
