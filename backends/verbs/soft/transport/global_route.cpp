#include "backends/verbs/soft/transport/global_route.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>

#include <cerrno>
#include <cstring>

#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft {
namespace {

constexpr std::size_t ip_offset_bytes = limits::grh_bytes - sizeof(iphdr);

std::uint16_t ip_checksum(const iphdr& header) {
  std::array<std::uint16_t, sizeof(iphdr) / 2> words{};
  std::memcpy(words.data(), &header, sizeof header);
  std::uint32_t sum = 0;
  for (const std::uint16_t word : words) {
    sum += word;
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint32_t own_ip() {
  return htonl(wire::Endpoint::instance().address());
}

}  // namespace

GlobalRouteHeader global_route_header(const SendWqe& wqe, std::uint32_t source_address) {
  // UDP, BTH, DETH, immediate data; payload padded to words; ICRC.
  constexpr std::uint64_t bth_deth_bytes = 8 + 12 + 8;
  const std::uint64_t imm_bytes = wqe.opcode == IBV_WR_SEND_WITH_IMM ? 4 : 0;
  const std::uint64_t packet_bytes =
      sizeof(iphdr) + bth_deth_bytes + imm_bytes + (wqe.length_bytes + 3) / 4 * 4 + 4;
  iphdr ip{};
  ip.version = 4;
  ip.ihl = 5;
  ip.tos = wqe.traffic_class;
  ip.tot_len = htons(static_cast<std::uint16_t>(packet_bytes));
  ip.frag_off = htons(IP_DF);
  ip.ttl = wqe.hop_limit;
  ip.protocol = IPPROTO_UDP;
  ip.saddr = htonl(source_address);
  ip.daddr = own_ip();
  ip.check = ip_checksum(ip);
  GlobalRouteHeader header;
  std::memcpy(header.bytes.data() + ip_offset_bytes, &ip, sizeof ip);
  return header;
}

int reply_address(const GlobalRouteHeader& header, std::uint8_t service_level, ibv_ah_attr& address) {
  iphdr ip{};
  std::memcpy(&ip, header.bytes.data() + ip_offset_bytes, sizeof ip);
  if (ip.version != 4 || ip.ihl != 5 || ip_checksum(ip) != 0 || ip.daddr != own_ip()) {
    return EINVAL;
  }
  address = {};
  address.is_global = 1;
  address.port_num = limits::port_num;
  address.sl = service_level;
  address.grh.dgid = wire::gid_of(ntohl(ip.saddr));
  address.grh.hop_limit = ip.ttl;
  address.grh.traffic_class = ip.tos;
  return 0;
}

}  // namespace rkv::soft
