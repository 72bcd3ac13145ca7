#include "backends/verbs/soft/wire/segmentation.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace rkv::soft::wire {
namespace {

struct Operations {
  Operation first, middle, last, last_immediate, only, only_immediate;
};

constexpr Operations sends{Operation::send_first, Operation::send_middle,
                           Operation::send_last,  Operation::send_last_immediate,
                           Operation::send_only,  Operation::send_only_immediate};
constexpr Operations writes{Operation::write_first, Operation::write_middle,
                            Operation::write_last,  Operation::write_last_immediate,
                            Operation::write_only,  Operation::write_only_immediate};

bool has_immediate(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool is_send(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

Operation operation_of(ibv_wr_opcode opcode, bool first, bool last) {
  const Operations& all = is_send(opcode) ? sends : writes;
  if (first && last) return has_immediate(opcode) ? all.only_immediate : all.only;
  if (last) return has_immediate(opcode) ? all.last_immediate : all.last;
  return first ? all.first : all.middle;
}

}  // namespace

void fill_part(Packet& packet, const SendWqe& wqe, const Segment* segments, std::uint32_t index,
               std::uint32_t count, std::uint32_t mtu_bytes, Outbox& outbox) {
  const std::uint64_t offset = std::uint64_t{index} * mtu_bytes;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(wqe.length_bytes - offset, mtu_bytes));
  const bool last = index + 1 == count;
  packet.operation = operation_of(wqe.opcode, index == 0, last);
  packet.solicited = last && wqe.is_solicited();
  packet.immediate = ntohl(wqe.imm_data);
  packet.remote_address = wqe.remote_addr;
  packet.remote_key = wqe.rkey;
  packet.length = static_cast<std::uint32_t>(wqe.length_bytes);
  std::byte* const place = outbox.payload_place(packet.service, packet.operation);
  gather_segments(place, segments, offset, bytes);
  packet.payload = {place, bytes};
}

}  // namespace rkv::soft::wire
