#include "tests/fuzz/process.hpp"

#include <fcntl.h>

#include <string_view>

#include "backends/verbs/soft/wire/endpoint.hpp"
#include "tests/fuzz/require.hpp"

namespace rkv::soft {
namespace {

ibv_context* open() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (std::string_view(ibv_get_device_name(list[i])) == "soft0") context = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  require(context != nullptr && wire::Endpoint::instance().has_network(),
          "soft0 can be opened, with a network");
  return context;
}

}  // namespace

Process::Process()
    : context(open()),
      pd(ibv_alloc_pd(context)),
      other_pd(ibv_alloc_pd(context)),
      channel(ibv_create_comp_channel(context)),
      memory(pd, other_pd) {
  require(channel != nullptr && ::fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0, "a channel can be made");
  ibv_ah_attr attributes = address();
  peer_handle = ibv_create_ah(pd, &attributes);
  require(peer_handle != nullptr, "an address handle can be made");
}

ibv_ah_attr Process::address() const {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.grh.dgid = wire::gid_of(peer.address());
  attributes.grh.hop_limit = 64;
  attributes.port_num = 1;
  return attributes;
}

}  // namespace rkv::soft
