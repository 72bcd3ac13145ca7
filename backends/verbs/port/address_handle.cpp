#include "backends/verbs/port/address_handle.hpp"

#include <cerrno>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

VerbsAddressHandle::VerbsAddressHandle(ibv_pd* domain, std::string_view device, const PortIdentity& identity,
                                       const Endpoint& peer)
    : queue_pair_(peer.queue_pair), qkey_(peer.qkey) {
  ibv_ah_attr path = path_to(identity, peer);
  handle_ = ::ibv_create_ah(domain, &path);
  if (handle_ == nullptr) throw system_error(device, "ibv_create_ah", errno);
}

VerbsAddressHandle::~VerbsAddressHandle() {
  ::ibv_destroy_ah(handle_);
}

}  // namespace rkv::verbs
