#include "backends/verbs/soft/wire/endpoint.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/verbs/path_mtu.hpp"
#include "backends/verbs/soft/wire/packet.hpp"

namespace rkv::soft::wire {
namespace {

constexpr const char* address_variable = "RKV_SOFT_ADDRESS";
constexpr std::uint32_t first_loopback = 0x7f'00'00'01;
constexpr std::uint32_t loopback_addresses = 1'024;
constexpr int buffer_bytes = 4 << 20;  // as much of it as the system grants
constexpr std::size_t address_at = 12;
constexpr std::array<std::uint8_t, address_at> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool holds_kernel_driver() {
  return ::access("/sys/module/rdma_rxe", F_OK) == 0;
}

// The socket, or -1 with errno. Port 0: one that is free.
int bind_to(std::uint32_t address, std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // "Don't fragment" in every datagram, and while the socket isn't connected identification 0: the ICRC
  // covers both.
  constexpr int discovery = IP_PMTUDISC_DO;
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_port = htons(port);
  own.sin_addr.s_addr = htonl(address);
  if (::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discovery, sizeof discovery) != 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    const int reason = errno;
    ::close(fd);
    errno = reason;
    return -1;
  }
  return fd;
}

int open_receiver(std::uint32_t address) {
  const int fd = bind_to(address, udp_port);
  if (fd < 0) return -1;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
  // Packets of one size come as one where the kernel can: cheaper by far.
  constexpr int together = 1;
  ::setsockopt(fd, IPPROTO_UDP, UDP_GRO, &together, sizeof together);
  return fd;
}

// The MTU of the interface that has the address, or of the loopback one.
int interface_mtu_bytes(std::uint32_t address, int fd) {
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
      const auto& given = *reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      if (ntohl(given.sin_addr.s_addr) == address) {
        std::strncpy(request.ifr_name, each->ifa_name, sizeof request.ifr_name - 1);
        break;
      }
    }
    ::freeifaddrs(all);
  }
  return ::ioctl(fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

ibv_mtu path_mtu(int interface_bytes) {
  constexpr int headers_bytes = 20 + 8 + 58;  // IPv4, UDP; the most that RoCE puts around a payload
  return verbs::mtu_within(static_cast<std::uint32_t>(std::max(0, interface_bytes - headers_bytes)));
}

void explain(const char* text, int reason) {
  std::fprintf(
      stderr, "rkv soft RNIC: %s (UDP port %u): %s%s\n", text, unsigned{udp_port}, std::strerror(reason),
      reason == EADDRINUSE && holds_kernel_driver()
          ? ". The kernel's Soft-RoCE (module rdma_rxe) is loaded and holds that port for all addresses: "
            "use its device, or remove the module"
          : "");
}

}  // namespace

struct EndpointOpening {
  Endpoint endpoint;
  int error = 0;

  EndpointOpening() {
    if (const char* const text = std::getenv(address_variable); text != nullptr && *text != '\0') {
      take(text);
    } else {
      find();
    }
    if (endpoint.has_network()) {
      endpoint.mtu_ = path_mtu(interface_mtu_bytes(endpoint.address_, endpoint.socket_));
    }
  }

  void take(const char* text) {
    in_addr address{};
    if (::inet_pton(AF_INET, text, &address) != 1 || address.s_addr == 0) {
      std::fprintf(stderr, "rkv soft RNIC: environment variable %s=\"%s\" is no IPv4 address of a host\n",
                   address_variable, text);
      error = EINVAL;
      return;
    }
    endpoint.address_ = ntohl(address.s_addr);
    endpoint.socket_ = open_receiver(endpoint.address_);
    if (!endpoint.has_network()) {
      error = errno;
      std::array<char, 96> what{};
      std::snprintf(what.data(), what.size(), "%s=%s can't be bound", address_variable, text);
      explain(what.data(), error);
    }
  }

  void find() {
    for (std::uint32_t i = 0; i < loopback_addresses; ++i) {
      const int fd = open_receiver(first_loopback + i);
      if (fd >= 0) {
        endpoint.address_ = first_loopback + i;
        endpoint.socket_ = fd;
        return;
      }
      if (errno != EADDRINUSE || holds_kernel_driver()) break;
    }
    explain("no address in 127.0.0.0/8 can be bound, so other processes can't be reached", errno);
  }
};

namespace {

EndpointOpening* opened = nullptr;

}  // namespace

bool Endpoint::open() {
  // Never destroyed: threads that use the socket may outlive static destruction.
  static EndpointOpening* const once = opened = new EndpointOpening;
  errno = once->error;
  return once->error == 0;
}

const Endpoint& Endpoint::instance() {
  static const Endpoint none;
  return opened == nullptr ? none : opened->endpoint;
}

int Endpoint::open_sender(std::uint16_t& port) const {
  const int fd = bind_to(address_, 0);
  if (fd < 0) return -1;
  // Nobody reads it.
  constexpr int least_bytes = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least_bytes, sizeof least_bytes);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length);
  port = ntohs(own.sin_port);
  return fd;
}

std::uint32_t address_of(const ibv_gid& gid) {
  if (!std::equal(mapped_prefix.begin(), mapped_prefix.end(), gid.raw)) return 0;
  std::uint32_t address = 0;
  std::memcpy(&address, gid.raw + address_at, sizeof address);
  return ntohl(address);
}

ibv_gid gid_of(std::uint32_t address) {
  ibv_gid gid{};
  std::copy(mapped_prefix.begin(), mapped_prefix.end(), gid.raw);
  address = htonl(address);
  std::memcpy(gid.raw + address_at, &address, sizeof address);
  return gid;
}

}  // namespace rkv::soft::wire
