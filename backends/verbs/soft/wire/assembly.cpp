#include "backends/verbs/soft/wire/assembly.hpp"

#include <arpa/inet.h>

#include <mutex>

#include "backends/verbs/soft/wire/connection.hpp"

namespace rkv::soft::wire {
namespace {

struct Part {
  PartialMessage kind;
  bool first;
  bool last;
  bool immediate;
};

// Of an operation up to write_only_immediate.
Part part_of(Operation operation) {
  switch (operation) {
    case Operation::send_first:
      return {PartialMessage::send, true, false, false};
    case Operation::send_middle:
      return {PartialMessage::send, false, false, false};
    case Operation::send_last:
      return {PartialMessage::send, false, true, false};
    case Operation::send_last_immediate:
      return {PartialMessage::send, false, true, true};
    case Operation::send_only:
      return {PartialMessage::send, true, true, false};
    case Operation::send_only_immediate:
      return {PartialMessage::send, true, true, true};
    case Operation::write_first:
      return {PartialMessage::write, true, false, false};
    case Operation::write_middle:
      return {PartialMessage::write, false, false, false};
    case Operation::write_last:
      return {PartialMessage::write, false, true, false};
    case Operation::write_last_immediate:
      return {PartialMessage::write, false, true, true};
    case Operation::write_only:
      return {PartialMessage::write, true, true, false};
    default:  // write_only_immediate
      return {PartialMessage::write, true, true, true};
  }
}

// The parts of a message are of the path MTU, but for the last one, which is not empty if others came before.
bool has_valid_length(const QueuePair& qp, const Packet& packet, const Part& part) {
  const std::size_t bytes = packet.payload.size();
  if (!part.last) return bytes == qp.remote->mtu_bytes;
  return bytes <= qp.remote->mtu_bytes && (bytes > 0 || part.first);
}

struct Inbound {
  SendWqe wqe;
  Segment data;
  Sender sender;

  Message message() const { return {.wqe = wqe, .sender = sender, .segments = &data, .segment_count = 1}; }
};

Inbound inbound(const QueuePair& qp, const Packet& packet, std::uint32_t source_address) {
  Inbound in;
  in.wqe.send_flags = packet.solicited ? unsigned{IBV_SEND_SOLICITED} : 0U;
  in.wqe.imm_data = htonl(packet.immediate);
  in.wqe.length_bytes = packet.payload.size();
  in.data = {.address = const_cast<std::byte*>(packet.payload.data()),
             .length_bytes = static_cast<std::uint32_t>(packet.payload.size())};
  in.sender = {
      .type = qp.type, .number = qp.dest_qpn.load(std::memory_order_relaxed), .address = source_address};
  return in;
}

Answer assemble_send(QueuePair& qp, const Part& part, Inbound& in, Aftermath& aftermath) {
  in.wqe.opcode = part.immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  if (part.first && part.last) {
    return receive_send(qp, in.message(), aftermath);
  }
  Responder& responder = qp.remote->responder;
  const Answer answer = receive_send_part(qp, responder.send, in.message(), part.last, aftermath);
  if (answer == Answer::acknowledged) {
    responder.partial = part.last ? PartialMessage::none : PartialMessage::send;
  }
  return answer;
}

Answer assemble_write(QueuePair& qp, const Packet& packet, const Part& part, Inbound& in,
                      Aftermath& aftermath) {
  Responder& responder = qp.remote->responder;
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  if (part.first) {
    if (part.last ? packet.length != bytes : packet.length <= bytes) return Answer::invalid_request;
    Inbound whole = in;
    whole.wqe.opcode = IBV_WR_RDMA_WRITE;
    whole.wqe.length_bytes = packet.length;
    whole.wqe.remote_addr = packet.remote_address;
    whole.wqe.rkey = packet.remote_key;
    const Answer answer = authorize_write(qp, whole.message(), aftermath);
    if (answer != Answer::acknowledged) return answer;
    responder.write_address = packet.remote_address;
    responder.write_key = packet.remote_key;
    responder.write_left_bytes = packet.length;
    responder.write_bytes = packet.length;
  }
  if (part.last ? bytes != responder.write_left_bytes : bytes >= responder.write_left_bytes) {
    return Answer::invalid_request;
  }
  in.wqe.opcode = IBV_WR_RDMA_WRITE;
  in.wqe.remote_addr = responder.write_address;
  in.wqe.rkey = responder.write_key;
  Answer answer = receive_write(qp, in.message(), aftermath);
  if (answer == Answer::acknowledged && part.immediate) {
    // Where there is no receive the packet comes once more, and writes the same bytes.
    in.wqe.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    in.wqe.length_bytes = responder.write_bytes;
    answer = receive_immediate(qp, in.message(), aftermath);
  }
  if (answer == Answer::acknowledged) {
    responder.write_address += bytes;
    responder.write_left_bytes -= bytes;
    responder.partial = part.last ? PartialMessage::none : PartialMessage::write;
  }
  return answer;
}

}  // namespace

bool begins_message(Operation operation) {
  return operation > Operation::write_only_immediate || part_of(operation).first;
}

bool ends_message(Operation operation) {
  return operation > Operation::write_only_immediate || part_of(operation).last;
}

Answer assemble(QueuePair& qp, const Packet& packet, std::uint32_t source_address, Aftermath& aftermath) {
  const Part part = part_of(packet.operation);
  const PartialMessage before = qp.remote->responder.partial;
  if (before != (part.first ? PartialMessage::none : part.kind) || !has_valid_length(qp, packet, part)) {
    return Answer::invalid_request;
  }
  Inbound in = inbound(qp, packet, source_address);
  return part.kind == PartialMessage::send ? assemble_send(qp, part, in, aftermath)
                                           : assemble_write(qp, packet, part, in, aftermath);
}

void drop_partial(QueuePair& qp, Aftermath& aftermath) {
  Responder& responder = qp.remote->responder;
  {
    const std::scoped_lock lock(qp.receive_lock);
    abandon(qp, responder.send, aftermath);
  }
  responder.partial = PartialMessage::none;
}

}  // namespace rkv::soft::wire
