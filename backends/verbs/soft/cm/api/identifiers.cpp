// Creating, moving and destroying ids; the devices that they can be bound to.
#include <cstdlib>
#include <new>
#include <utility>

#include "backends/verbs/soft/cm/api/forward.hpp"
#include "backends/verbs/soft/cm/api/identifiers.hpp"
#include "backends/verbs/soft/cm/api/outcome.hpp"
#include "backends/verbs/soft/cm/shared_device.hpp"
#include "backends/verbs/soft/cm/socket_address.hpp"

namespace rkv::soft::cm {

Identifier* create_identifier(rdma_event_channel* channel, void* user, rdma_port_space space,
                              ibv_qp_type type) {
  if (space != RDMA_PS_TCP && space != RDMA_PS_UDP) {
    errno = EPROTONOSUPPORT;
    return nullptr;
  }
  std::unique_ptr<EventChannel> own;
  if (channel == nullptr) {
    own = EventChannel::open();
    if (own == nullptr) return nullptr;
    channel = own.get();
  }
  auto* const made = new (std::nothrow) Identifier(*EventChannel::from(channel), user, space, type);
  if (made == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  made->own(std::move(own));
  return made;
}

}  // namespace rkv::soft::cm

using rkv::soft::cm::EventChannel;
using rkv::soft::cm::Identifier;
using rkv::soft::cm::outcome;
using rkv::soft::cm::serves;

RKV_SOFT_EXPORT int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                                   rdma_port_space space) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_create_id, "RDMACM_1.0", channel, id, context, space);
  const ibv_qp_type type = space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
  Identifier* const made = rkv::soft::cm::create_identifier(channel, context, space, type);
  if (made == nullptr) return -1;
  *id = made;
  return 0;
}

RKV_SOFT_EXPORT int rdma_destroy_id(rdma_cm_id* id) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_destroy_id, "RDMACM_1.0", id);
  rkv::soft::cm::drop_event(*id);
  delete Identifier::from(id);
  return 0;
}

RKV_SOFT_EXPORT int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_migrate_id, "RDMACM_1.0", id, channel);
  Identifier& moved = *Identifier::from(id);
  std::unique_ptr<EventChannel> own;
  if (channel == nullptr) {
    if (moved.is_synchronous()) return outcome(EINVAL);
    own = EventChannel::open();
    if (own == nullptr) return -1;
    channel = own.get();
  }
  if (moved.is_synchronous()) rkv::soft::cm::drop_event(*id);
  return outcome(moved.migrate(*EventChannel::from(channel), std::move(own)));
}

RKV_SOFT_EXPORT int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t bytes) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_set_option, "RDMACM_1.0", id, level, name, value, bytes);
  return outcome(Identifier::from(id)->set_option(level, name, value, bytes));
}

RKV_SOFT_EXPORT __be16 rdma_get_src_port(rdma_cm_id* id) {
  return rkv::soft::cm::port_of(id->route.addr.src_addr);
}

RKV_SOFT_EXPORT __be16 rdma_get_dst_port(rdma_cm_id* id) {
  return rkv::soft::cm::port_of(id->route.addr.dst_addr);
}

RKV_SOFT_EXPORT ibv_context** rdma_get_devices(int* count) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_get_devices, "RDMACM_1.0", count);
  const auto* const device = rkv::soft::cm::shared_device();
  if (device == nullptr) return nullptr;
  auto** const list = static_cast<ibv_context**>(std::calloc(2, sizeof(ibv_context*)));
  if (list == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  list[0] = device->context;
  if (count != nullptr) *count = 1;
  return list;
}

RKV_SOFT_EXPORT void rdma_free_devices(ibv_context** list) {
  if (!serves()) return RKV_SOFT_NEXT_CM(rdma_free_devices, "RDMACM_1.0", list);
  std::free(list);
}
