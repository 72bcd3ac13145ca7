#include "backends/verbs/soft/cm/socket_address.hpp"

#include <cerrno>
#include <cstring>

#include "backends/verbs/port/file_descriptor.hpp"

namespace rkv::soft::cm {
namespace {

const sockaddr_in& ipv4(const sockaddr& address) {
  return reinterpret_cast<const sockaddr_in&>(address);
}
const sockaddr_in6& ipv6(const sockaddr& address) {
  return reinterpret_cast<const sockaddr_in6&>(address);
}

}  // namespace

socklen_t length_of(const sockaddr* address) {
  if (address == nullptr) return 0;
  switch (address->sa_family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    default:
      return 0;
  }
}

in_port_t port_of(const sockaddr& address) {
  switch (address.sa_family) {
    case AF_INET:
      return ipv4(address).sin_port;
    case AF_INET6:
      return ipv6(address).sin6_port;
    default:
      return 0;
  }
}

void set_port(sockaddr& address, in_port_t port) {
  if (address.sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = port;
  } else if (address.sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = port;
  }
}

bool is_wildcard(const sockaddr& address) {
  return address.sa_family == AF_INET ? ipv4(address).sin_addr.s_addr == htonl(INADDR_ANY)
                                      : IN6_IS_ADDR_UNSPECIFIED(&ipv6(address).sin6_addr) != 0;
}

void copy_address(sockaddr_storage& to, const sockaddr& from) {
  std::memcpy(&to, &from, length_of(&from));
}

int bound_address(int socket, sockaddr_storage& address) {
  socklen_t bytes = sizeof address;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 ? 0 : errno;
}

int source_towards(const sockaddr& destination, sockaddr_storage& source) {
  // Connecting a datagram socket sends nothing; it asks the routing table.
  const verbs::FileDescriptor probe(::socket(destination.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.valid() || ::connect(probe.get(), &destination, length_of(&destination)) != 0) return errno;
  if (const int error = bound_address(probe.get(), source); error != 0) return error;
  set_port(reinterpret_cast<sockaddr&>(source), 0);
  return 0;
}

}  // namespace rkv::soft::cm
