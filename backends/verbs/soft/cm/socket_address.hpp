// IPv4 and IPv6 addresses with ports, as applications give them to librdmacm's functions.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace rkv::soft::cm {

// Of its family; 0: neither IPv4 nor IPv6, or null.
socklen_t length_of(const sockaddr* address);
// In network byte order, as is the new one.
in_port_t port_of(const sockaddr& address);
void set_port(sockaddr& address, in_port_t port);
bool is_wildcard(const sockaddr& address);

// Copies an address of one of the two families.
void copy_address(sockaddr_storage& to, const sockaddr& from);
// The address that a socket is bound to; 0 or errno.
int bound_address(int socket, sockaddr_storage& address);
// The address that this host would send from to `destination`, with port 0; 0 or errno (ENETUNREACH, ...).
int source_towards(const sockaddr& destination, sockaddr_storage& source);

}  // namespace rkv::soft::cm
