#include "backends/verbs/port/address_handle.hpp"

#include <cerrno>

#include "backends/verbs/port/address_resolution.hpp"
#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {

VerbsAddressHandle::VerbsAddressHandle(ibv_pd* domain, std::string_view device, const PortIdentity& identity,
                                       const Endpoint& peer)
    : queue_pair_(peer.queue_pair), qkey_(peer.qkey) {
  ibv_ah_attr path = path_to(identity, peer);
  const int failure = with_resolution([&] {
    handle_ = ::ibv_create_ah(domain, &path);
    return handle_ == nullptr ? errno : 0;
  });
  if (failure != 0) throw system_error(device, "ibv_create_ah", failure);
}

VerbsAddressHandle::~VerbsAddressHandle() {
  ::ibv_destroy_ah(handle_);
}

}  // namespace rkv::verbs
