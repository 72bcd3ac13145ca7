// What two programs tell each other to connect their queue pairs: a few messages over a TCP connection of
// their own, one for each id. They carry what InfiniBand's connection manager carries in REQ, REP, REJ, RTU
// and DREQ, or for datagrams in SIDR_REQ and SIDR_REP.
//
// Whatever comes from the network has passed decode(), which lets nothing through that is out of range.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rkv::soft::cm {

enum class Kind : std::uint8_t {
  request = 1,
  reply,
  reject,
  ready,
  disconnect,
};

struct PrivateData {
  std::uint8_t bytes = 0;
  std::array<std::byte, 255> data{};
};

struct Message {
  Kind kind = Kind::request;
  bool srq = false;
  std::uint16_t port_space = RDMA_PS_TCP;
  std::uint16_t reason = 0;  // of a reject
  std::uint32_t qp_num = 0;
  std::uint32_t psn = 0;  // the sender's first one
  std::uint32_t qkey = 0;
  ibv_gid gid{};                         // the sender's
  std::uint8_t mtu = IBV_MTU_1024;       // an ibv_mtu
  std::uint8_t responder_resources = 0;  // as the sender sees it, as is
  std::uint8_t initiator_depth = 0;
  std::uint8_t flow_control = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  PrivateData private_data;
};

inline constexpr std::uint8_t max_retries = 7;  // three bits in InfiniBand
inline constexpr std::size_t header_bytes = 48;
inline constexpr std::size_t max_message_bytes =
    header_bytes + std::tuple_size_v<decltype(PrivateData::data)>;

// What librdmacm lets an application say in such a message.
std::size_t private_data_limit(Kind kind, std::uint16_t port_space);

// Returns how many bytes of `out` it takes.
std::size_t encode(const Message& message, std::span<std::byte, max_message_bytes> out);

// How many bytes the first message takes of what has arrived: 0 if more must arrive, -1 if it is no message.
int decode(std::span<const std::byte> arrived, Message& message);

}  // namespace rkv::soft::cm
