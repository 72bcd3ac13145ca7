// Finding, opening and closing the device.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "backends/verbs/soft/api/forward.hpp"
#include "backends/verbs/soft/fault/fault_stream.hpp"
#include "backends/verbs/soft/verbs/context.hpp"
#include "backends/verbs/soft/wire/endpoint.hpp"

namespace {

using rkv::soft::Context;
using rkv::soft::is_soft;
using rkv::soft::soft_device;

// A list given to the application. libibverbs' own list, which is needed to free its devices, is in front of
// it.
constexpr std::size_t hidden_entries = 1;

ibv_device**& real_list(ibv_device** devices) {
  return *reinterpret_cast<ibv_device***>(devices - hidden_entries);
}

}  // namespace

RKV_SOFT_EXPORT ibv_device** ibv_get_device_list(int* num_devices) {
  int real_count = 0;
  ibv_device** const real = RKV_SOFT_NEXT(ibv_get_device_list, "IBVERBS_1.1", &real_count);
  if (real == nullptr) {
    real_count = 0;  // no kernel support for RDMA: soft0 needs none
  }
  const std::size_t count = static_cast<std::size_t>(real_count) + 1;
  void* const memory = std::calloc(hidden_entries + count + 1, sizeof(ibv_device*));
  if (memory == nullptr) {
    if (real != nullptr) {
      RKV_SOFT_NEXT(ibv_free_device_list, "IBVERBS_1.1", real);
    }
    errno = ENOMEM;
    return nullptr;
  }
  ibv_device** const devices = static_cast<ibv_device**>(memory) + hidden_entries;
  real_list(devices) = real;
  std::copy_n(real, real_count, devices);
  devices[real_count] = soft_device();
  if (num_devices != nullptr) {
    *num_devices = static_cast<int>(count);
  }
  return devices;
}

RKV_SOFT_EXPORT void ibv_free_device_list(ibv_device** devices) {
  if (real_list(devices) != nullptr) {
    RKV_SOFT_NEXT(ibv_free_device_list, "IBVERBS_1.1", real_list(devices));
  }
  std::free(devices - hidden_entries);
}

RKV_SOFT_EXPORT const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

RKV_SOFT_EXPORT int ibv_get_device_index(ibv_device* device) {
  return device == soft_device() ? -1 : RKV_SOFT_NEXT(ibv_get_device_index, "IBVERBS_1.9", device);
}

RKV_SOFT_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  return device == soft_device() ? rkv::soft::device_guid()
                                 : RKV_SOFT_NEXT(ibv_get_device_guid, "IBVERBS_1.1", device);
}

RKV_SOFT_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  if (device != soft_device()) {
    return RKV_SOFT_NEXT(ibv_open_device, "IBVERBS_1.1", device);
  }
  if (!rkv::soft::set_faults_from_environment()) {
    errno = EINVAL;
    return nullptr;
  }
  if (!rkv::soft::wire::Endpoint::open()) {
    return nullptr;
  }
  Context* const context = Context::open();
  return context == nullptr ? nullptr : &context->verbs.context;
}

RKV_SOFT_EXPORT int ibv_close_device(ibv_context* context) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_close_device, "IBVERBS_1.1", context);
  }
  Context::from(context)->drop();
  return 0;
}

RKV_SOFT_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!is_soft(context)) {
    return RKV_SOFT_NEXT(ibv_get_async_event, "IBVERBS_1.1", context, event);
  }
  return Context::from(context)->next_event(*event);
}

// ibv_ack_async_event and ibv_fork_init are libibverbs' own: they work on public fields only.
