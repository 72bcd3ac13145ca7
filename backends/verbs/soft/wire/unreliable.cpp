#include "backends/verbs/soft/wire/unreliable.hpp"

#include <arpa/inet.h>

#include <mutex>

#include "backends/verbs/soft/wire/assembly.hpp"
#include "backends/verbs/soft/wire/connection.hpp"
#include "backends/verbs/soft/wire/counters.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"
#include "backends/verbs/soft/wire/psn.hpp"
#include "backends/verbs/soft/wire/segmentation.hpp"

namespace rkv::soft::wire {
namespace {

void send_datagram(QueuePair& qp, const Message& message, Outbox& outbox) {
  Packet packet;
  packet.service = Service::ud;
  packet.destination = message.wqe.remote_qpn;
  packet.sequence_number = qp.datagram_psn;
  packet.queue_key = message.wqe.remote_qkey;
  packet.source = qp.number();
  qp.datagram_psn = psn_add(qp.datagram_psn, 1);
  fill_part(packet, message.wqe, message.segments, 0, 1, limits::path_mtu_bytes, outbox);
  outbox.add(packet, message.wqe.destination);
}

void send_parts(QueuePair& qp, const Message& message, Outbox& outbox) {
  const std::uint32_t mtu_bytes = qp.remote->mtu_bytes;
  const std::uint32_t packets = packets_of(message.wqe.length_bytes, mtu_bytes);
  std::uint32_t& next_psn = qp.remote->requester.next_psn;
  for (std::uint32_t i = 0; i < packets; ++i) {
    Packet packet;
    packet.service = Service::uc;
    packet.destination = qp.dest_qpn.load(std::memory_order_relaxed);
    packet.sequence_number = next_psn;
    next_psn = psn_add(next_psn, 1);
    fill_part(packet, message.wqe, message.segments, i, packets, mtu_bytes, outbox);
    outbox.add(packet, qp.peer_address.load(std::memory_order_relaxed));
  }
}

}  // namespace

void send_unreliable(QueuePair& qp, const Message& message) {
  Outbox& outbox = Outbox::of_this_thread();
  if (qp.is_connected()) {
    send_parts(qp, message, outbox);
  } else {
    send_datagram(qp, message, outbox);
  }
  outbox.send();
}

void receive_unreliable(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                        Aftermath& aftermath) {
  Responder& responder = qp.remote->responder;
  const bool in_sequence = packet.sequence_number == responder.expected_psn;
  responder.expected_psn = psn_add(packet.sequence_number, 1);
  if (!in_sequence) {
    count(counters().out_of_sequence);
  }
  if (begins_message(packet.operation)) {
    drop_partial(qp, aftermath);
  } else if (!in_sequence || responder.partial == PartialMessage::none) {
    drop_partial(qp, aftermath);
    return;
  }
  if (assemble(qp, packet, source_address, aftermath) != Answer::acknowledged) {
    drop_partial(qp, aftermath);
  }
}

void receive_datagram(QueuePair& qp, const Packet& packet, std::uint32_t source_address,
                      Aftermath& aftermath) {
  SendWqe wqe;
  wqe.opcode = packet.operation == Operation::send_only_immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  wqe.send_flags = packet.solicited ? unsigned{IBV_SEND_SOLICITED} : 0U;
  wqe.imm_data = htonl(packet.immediate);
  wqe.length_bytes = packet.payload.size();
  wqe.remote_qkey = packet.queue_key;
  const Segment data{.address = const_cast<std::byte*>(packet.payload.data()),
                     .length_bytes = static_cast<std::uint32_t>(packet.payload.size())};
  receive_send(qp,
               Message{.wqe = wqe,
                       .sender = {.type = IBV_QPT_UD, .number = packet.source, .address = source_address},
                       .segments = &data,
                       .segment_count = 1},
               aftermath);
}

}  // namespace rkv::soft::wire
