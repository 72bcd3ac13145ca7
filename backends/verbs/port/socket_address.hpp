// Numeric IPv4 and IPv6 socket addresses, to and from text.
#pragma once

#include <sys/socket.h>

#include <string>

#include "core/port/stream.hpp"

namespace rkv::verbs {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// Throws rkv::Error when the host is no numeric address: names are never looked up.
[[nodiscard]] SocketAddress parse_address(const StreamAddress& address);

// The address a socket is bound to. Throws rkv::Error.
[[nodiscard]] StreamAddress bound_address(int socket_fd);

// "10.0.0.1:7000", "[::1]:7000"
[[nodiscard]] std::string to_string(const StreamAddress& address);

}  // namespace rkv::verbs
