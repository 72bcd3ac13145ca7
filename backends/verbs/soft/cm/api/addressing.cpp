// Addresses of ids, and addresses by name.
#include <netdb.h>

#include <cstdlib>
#include <cstring>

#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"
#include "backends/verbs/soft/cm/socket_address.hpp"

namespace {

using rkv::soft::cm::completed;
using rkv::soft::cm::Identifier;
using rkv::soft::cm::length_of;
using rkv::soft::cm::outcome;
using rkv::soft::cm::serves;

addrinfo asked_of_resolver(const rdma_addrinfo& hints) {
  addrinfo asked{};
  if ((hints.ai_flags & RAI_PASSIVE) != 0) asked.ai_flags |= AI_PASSIVE;
  if ((hints.ai_flags & RAI_NUMERICHOST) != 0) asked.ai_flags |= AI_NUMERICHOST;
  asked.ai_family = hints.ai_family;
  const bool datagrams = hints.ai_qp_type == IBV_QPT_UD || hints.ai_port_space == RDMA_PS_UDP;
  asked.ai_socktype = datagrams ? SOCK_DGRAM : SOCK_STREAM;
  return asked;
}

bool copy(sockaddr*& to, socklen_t& to_bytes, const sockaddr* from, socklen_t bytes) {
  to = static_cast<sockaddr*>(std::malloc(bytes));
  if (to == nullptr) return false;
  std::memcpy(to, from, bytes);
  to_bytes = bytes;
  return true;
}

int error_of_resolver(int code) {
  return code == EAI_SYSTEM ? errno : code == EAI_MEMORY ? ENOMEM : EADDRNOTAVAIL;
}

// What the name stands for; 0 or errno.
int look_up(const char* node, const char* service, const rdma_addrinfo& hints, rdma_addrinfo& out) {
  const addrinfo asked = asked_of_resolver(hints);
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(node, service, &asked, &found); code != 0)
    return error_of_resolver(code);
  const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
  out.ai_flags = passive ? RAI_PASSIVE : 0;
  out.ai_family = found->ai_family;
  const bool copied = passive ? copy(out.ai_src_addr, out.ai_src_len, found->ai_addr, found->ai_addrlen)
                              : copy(out.ai_dst_addr, out.ai_dst_len, found->ai_addr, found->ai_addrlen);
  out.ai_qp_type = hints.ai_qp_type;
  if (out.ai_qp_type == 0) out.ai_qp_type = found->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
  out.ai_port_space = hints.ai_port_space;
  if (out.ai_port_space == 0)
    out.ai_port_space = found->ai_socktype == SOCK_DGRAM ? RDMA_PS_UDP : RDMA_PS_TCP;
  ::freeaddrinfo(found);
  return copied ? 0 : ENOMEM;
}

int fill(const char* node, const char* service, const rdma_addrinfo& hints, rdma_addrinfo& out) {
  if (node != nullptr || service != nullptr) {
    if (const int error = look_up(node, service, hints, out); error != 0) return error;
  } else {
    out.ai_flags = hints.ai_flags;
    out.ai_family = hints.ai_family;
    out.ai_qp_type = hints.ai_qp_type;
    out.ai_port_space = hints.ai_port_space;
    if (hints.ai_dst_len != 0 &&
        !copy(out.ai_dst_addr, out.ai_dst_len, hints.ai_dst_addr, hints.ai_dst_len)) {
      return ENOMEM;
    }
  }
  if (out.ai_src_len == 0 && hints.ai_src_len != 0 &&
      !copy(out.ai_src_addr, out.ai_src_len, hints.ai_src_addr, hints.ai_src_len)) {
    return ENOMEM;
  }
  return 0;
}

}  // namespace

RKV_SOFT_EXPORT int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_bind_addr, "RDMACM_1.0", id, address);
  if (length_of(address) == 0) return outcome(EINVAL);
  return outcome(Identifier::from(id)->bind(*address));
}

RKV_SOFT_EXPORT int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination,
                                      int timeout_ms) {
  if (!serves()) {
    return RKV_SOFT_NEXT_CM(rdma_resolve_addr, "RDMACM_1.0", id, source, destination, timeout_ms);
  }
  if (length_of(destination) == 0 || (source != nullptr && length_of(source) == 0)) return outcome(EINVAL);
  Identifier& resolved = *Identifier::from(id);
  return completed(resolved, resolved.resolve_address(source, *destination));
}

RKV_SOFT_EXPORT int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_resolve_route, "RDMACM_1.0", id, timeout_ms);
  Identifier& resolved = *Identifier::from(id);
  return completed(resolved, resolved.resolve_route());
}

RKV_SOFT_EXPORT int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                                     rdma_addrinfo** result) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_getaddrinfo, "RDMACM_1.0", node, service, hints, result);
  if (node == nullptr && service == nullptr && hints == nullptr) return outcome(EINVAL);
  auto* const found = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
  if (found == nullptr) return outcome(ENOMEM);
  constexpr rdma_addrinfo no_hints{};
  const int error = fill(node, service, hints != nullptr ? *hints : no_hints, *found);
  if (error != 0) {
    rdma_freeaddrinfo(found);
    return outcome(error);
  }
  *result = found;
  return 0;
}

RKV_SOFT_EXPORT void rdma_freeaddrinfo(rdma_addrinfo* result) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_freeaddrinfo, "RDMACM_1.0", result);
  while (result != nullptr) {
    rdma_addrinfo* const next = result->ai_next;
    // The application may have added data and routes, from malloc as well.
    std::free(result->ai_connect);
    std::free(result->ai_route);
    std::free(result->ai_src_canonname);
    std::free(result->ai_dst_canonname);
    std::free(result->ai_src_addr);
    std::free(result->ai_dst_addr);
    std::free(result);
    result = next;
  }
}
