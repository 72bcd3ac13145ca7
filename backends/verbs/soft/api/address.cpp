// Address handles.
#include <cerrno>
#include <cstring>
#include <new>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/transport/global_route.hpp"
#include "backends/verbs/soft/verbs/address_handle.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/verbs/limits.hpp"
#include "backends/verbs/soft/verbs/protection_domain.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

using namespace rkv::soft;

RKV_SOFT_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_create_ah, "IBVERBS_1.1", pd, attributes);
  }
  if (const int error = check_address(*attributes); error != 0) {
    errno = error;
    return nullptr;
  }
  auto* const ah = new (std::nothrow) AddressHandle{.ibv = {.context = pd->context, .pd = pd, .handle = 0},
                                                    .attributes = *attributes,
                                                    .destination = wire::address_of(attributes->grh.dgid)};
  if (ah == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  ProtectionDomain::from(pd)->users.fetch_add(1);
  Context::from(pd->context)->hold();
  return &ah->ibv;
}

RKV_SOFT_EXPORT int ibv_destroy_ah(ibv_ah* handle) {
  if (!is_soft(handle->context)) {
    return RKV_SOFT_NEXT(ibv_destroy_ah, "IBVERBS_1.1", handle);
  }
  ProtectionDomain::from(handle->pd)->users.fetch_sub(1);
  Context* const context = Context::from(handle->context);
  delete AddressHandle::from(handle);
  context->drop();
  return 0;
}

RKV_SOFT_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port_num, ibv_wc* completion,
                                        ibv_grh* grh, ibv_ah_attr* attributes) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_init_ah_from_wc, "IBVERBS_1.1", context, port_num, completion, grh, attributes);
  }
  int error = EINVAL;
  if (port_num == limits::port_num && (completion->wc_flags & IBV_WC_GRH) != 0 && grh != nullptr) {
    GlobalRouteHeader header;
    std::memcpy(header.bytes.data(), grh, header.bytes.size());
    error = reply_address(header, completion->sl, *attributes);
  }
  if (error != 0) {
    errno = error;
    return -1;
  }
  return 0;
}

RKV_SOFT_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* completion, ibv_grh* grh,
                                              std::uint8_t port_num) {
  if (!is_soft(pd->context)) {
    return RKV_SOFT_NEXT(ibv_create_ah_from_wc, "IBVERBS_1.1", pd, completion, grh, port_num);
  }
  ibv_ah_attr attributes{};
  if (ibv_init_ah_from_wc(pd->context, port_num, completion, grh, &attributes) != 0) {
    return nullptr;
  }
  return ibv_create_ah(pd, &attributes);
}

RKV_SOFT_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes,
                                                std::uint8_t mac[ETHERNET_LL_SIZE], std::uint16_t* vlan) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1", context, attributes, mac, vlan);
  }
  return EOPNOTSUPP;  // there is no Ethernet below soft0
}
