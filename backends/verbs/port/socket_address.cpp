#include "backends/verbs/port/socket_address.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

SocketAddress parse_address(const StreamAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(fmt::format("address '{}': {}; give an IPv4 or IPv6 address in numbers", address.host,
                            ::gai_strerror(failure)));
  }
  SocketAddress parsed;
  std::memcpy(&parsed.storage, found->ai_addr, found->ai_addrlen);
  parsed.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return parsed;
}

StreamAddress bound_address(int socket_fd) {
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (::getsockname(socket_fd, bound.get(), &bound.length) != 0) {
    throw system_error("socket", "getsockname", errno);
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  const int failure = ::getnameinfo(bound.get(), bound.length, host.data(), host.size(), service.data(),
                                    service.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failure != 0) throw Error(fmt::format("socket: getnameinfo failed: {}", ::gai_strerror(failure)));
  return {host.data(), static_cast<std::uint16_t>(std::stoi(service.data()))};
}

std::string to_string(const StreamAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  const std::string host = ipv6 ? '[' + address.host + ']' : address.host;
  return fmt::format("{}:{}", host, address.port);
}

}  // namespace rkv::verbs
