#include "backends/verbs/soft/cm/message.hpp"

#include <algorithm>

#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/byte_reader.hpp"
#include "backends/verbs/soft/wire/byte_writer.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint32_t magic = 0x726b'636d;  // "rkcm"
constexpr std::uint8_t version = 1;

bool is_in_range(const Message& message) {
  return message.kind >= Kind::request && message.kind <= Kind::disconnect &&
         (message.port_space == RDMA_PS_TCP || message.port_space == RDMA_PS_UDP) &&
         message.qp_num <= limits::qpn_mask && message.psn <= limits::qpn_mask &&
         message.mtu >= IBV_MTU_256 && message.mtu <= IBV_MTU_4096 && message.retry_count <= max_retries &&
         message.rnr_retry_count <= max_retries &&
         message.private_data.bytes <= private_data_limit(message.kind, message.port_space);
}

}  // namespace

std::size_t private_data_limit(Kind kind, std::uint16_t port_space) {
  const bool datagrams = port_space == RDMA_PS_UDP;
  switch (kind) {
    case Kind::request:
      return datagrams ? 180 : 56;
    case Kind::reply:
      return datagrams ? 136 : 196;
    case Kind::reject:
      return datagrams ? 136 : 148;
    default:
      return 0;
  }
}

std::size_t encode(const Message& message, std::span<std::byte, max_message_bytes> out) {
  wire::ByteWriter writer(out);
  writer.put(magic);
  writer.put(version);
  writer.put(static_cast<std::uint8_t>(message.kind));
  writer.put(message.private_data.bytes);
  writer.put(static_cast<std::uint8_t>(message.srq));
  writer.put(message.port_space);
  writer.put(message.reason);
  writer.put(message.qp_num);
  writer.put(message.psn);
  writer.put(message.qkey);
  writer.put(std::span<const std::byte>(std::as_bytes(std::span(message.gid.raw))));
  writer.put(message.mtu);
  writer.put(message.responder_resources);
  writer.put(message.initiator_depth);
  writer.put(message.flow_control);
  writer.put(message.retry_count);
  writer.put(message.rnr_retry_count);
  writer.put(std::uint16_t{0});
  writer.put(std::span<const std::byte>(message.private_data.data).first(message.private_data.bytes));
  return header_bytes + message.private_data.bytes;
}

int decode(std::span<const std::byte> arrived, Message& message) {
  if (arrived.size() < header_bytes) return 0;
  wire::ByteReader reader(arrived);
  if (reader.take<std::uint32_t>() != magic || reader.take<std::uint8_t>() != version) return -1;
  message.kind = static_cast<Kind>(reader.take<std::uint8_t>());
  message.private_data.bytes = reader.take<std::uint8_t>();
  message.srq = reader.take<std::uint8_t>() != 0;
  message.port_space = reader.take<std::uint16_t>();
  message.reason = reader.take<std::uint16_t>();
  message.qp_num = reader.take<std::uint32_t>();
  message.psn = reader.take<std::uint32_t>();
  message.qkey = reader.take<std::uint32_t>();
  reader.take(std::span<std::byte>(std::as_writable_bytes(std::span(message.gid.raw))));
  message.mtu = reader.take<std::uint8_t>();
  message.responder_resources = reader.take<std::uint8_t>();
  message.initiator_depth = reader.take<std::uint8_t>();
  message.flow_control = reader.take<std::uint8_t>();
  message.retry_count = reader.take<std::uint8_t>();
  message.rnr_retry_count = reader.take<std::uint8_t>();
  if (!is_in_range(message)) return -1;
  const std::size_t bytes = header_bytes + message.private_data.bytes;
  if (arrived.size() < bytes) return 0;
  std::ranges::copy(arrived.subspan(header_bytes, message.private_data.bytes),
                    message.private_data.data.begin());
  return static_cast<int>(bytes);
}

}  // namespace rkv::soft::cm
