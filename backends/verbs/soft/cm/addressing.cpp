// Which addresses an id has. Any of this host will do: where the queue pairs are, the set-up itself tells.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "backends/verbs/soft/cm/identifier.hpp"
#include "backends/verbs/soft/cm/shared_device.hpp"
#include "backends/verbs/soft/cm/socket_address.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace rkv::soft::cm {
namespace {

template <typename T>
int read_option(T& out, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return EINVAL;
  std::memcpy(&out, value, sizeof(T));
  return 0;
}

}  // namespace

int Identifier::set_option(int level, int name, const void* value, std::size_t bytes) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (level != RDMA_OPTION_ID) return EOPNOTSUPP;
  std::uint8_t number = 0;
  int flag = 0;
  int error = 0;
  switch (name) {
    case RDMA_OPTION_ID_TOS:
      return read_option(number, value, bytes);
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      error = read_option(number, value, bytes);
      if (error == 0) ack_timeout_ = number & 0x1f;
      return error;
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY:
      error = read_option(flag, value, bytes);
      if (error == 0 && state_ != State::idle) error = EINVAL;
      if (error == 0 && name == RDMA_OPTION_ID_AFONLY) one_family_ = flag != 0;
      return error;
    default:
      return EOPNOTSUPP;
  }
}

int Identifier::attach_device() {
  const SharedDevice* const device = shared_device();
  if (device == nullptr) return errno;
  verbs = device->context;
  if (pd == nullptr) pd = device->pd;
  port_num = limits::port_num;
  route.addr.addr.ibaddr.sgid = device_gid();
  route.addr.addr.ibaddr.pkey = htons(limits::default_pkey);
  return 0;
}

int Identifier::bind_socket(const sockaddr& source) {
  verbs::FileDescriptor made(::socket(source.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return errno;
  // TCP keeps the ports of past connections for a while, a connection manager does not.
  constexpr int on = 1;
  ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int one_family = one_family_ ? 1 : 0;
  if (source.sa_family == AF_INET6) {
    ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one_family, sizeof one_family);
  }
  if (::bind(made.get(), &source, length_of(&source)) != 0) return errno;
  if (const int error = bound_address(made.get(), route.addr.src_storage); error != 0) return error;
  socket_ = std::move(made);
  return 0;
}

int Identifier::bind(const sockaddr& source) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::idle) return EINVAL;
  if (const int error = bind_socket(source); error != 0) return error;
  state_ = State::bound;
  return is_wildcard(source) ? 0 : attach_device();
}

int Identifier::choose_source(const sockaddr* source, const sockaddr& destination) {
  sockaddr_storage towards{};
  const int error = source_towards(destination, towards);
  if (error != 0) return error;
  auto& own = reinterpret_cast<sockaddr&>(towards);
  if (state_ == State::bound) {
    if (is_wildcard(route.addr.src_addr)) {
      set_port(own, port_of(route.addr.src_addr));
      copy_address(route.addr.src_storage, own);
    }
    return 0;
  }
  if (source != nullptr && !is_wildcard(*source)) return bind_socket(*source);
  if (source != nullptr) set_port(own, port_of(*source));
  return bind_socket(own);
}

int Identifier::resolve_address(const sockaddr* source, const sockaddr& destination) {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::idle && state_ != State::bound) return EINVAL;
  const sockaddr* const bound = state_ == State::bound ? &route.addr.src_addr : source;
  if (bound != nullptr && bound->sa_family != destination.sa_family) return EINVAL;
  int error = choose_source(source, destination);
  if (error == 0) error = attach_device();
  if (error != 0) {
    raise(RDMA_CM_EVENT_ADDR_ERROR, -error);
    return 0;
  }
  copy_address(route.addr.dst_storage, destination);
  state_ = State::address_resolved;
  raise(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
  return 0;
}

int Identifier::resolve_route() {
  const std::scoped_lock lock(Reactor::instance().mutex());
  if (state_ != State::address_resolved) return EINVAL;
  describe_route();
  state_ = State::route_resolved;
  raise(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
  return 0;
}

void Identifier::describe_route() {
  forget_route();
  auto* const path = new (std::nothrow) ibv_sa_path_rec{};
  if (path == nullptr) return;
  path->sgid = route.addr.addr.ibaddr.sgid;
  path->dgid = route.addr.addr.ibaddr.dgid;
  path->hop_limit = hop_limit;
  path->reversible = 1;
  path->numb_path = 1;
  path->pkey = htons(limits::default_pkey);
  constexpr std::uint8_t exactly = 2;
  path->mtu_selector = exactly;
  path->mtu = static_cast<std::uint8_t>(wire::Endpoint::instance().mtu());
  route.path_rec = path;
  route.num_paths = 1;
}

void Identifier::forget_route() {
  delete std::exchange(route.path_rec, nullptr);
  route.num_paths = 0;
}

}  // namespace rkv::soft::cm
