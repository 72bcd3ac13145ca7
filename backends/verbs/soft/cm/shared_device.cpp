#include "backends/verbs/soft/cm/shared_device.hpp"

#include <mutex>

#include "backends/verbs/soft/verbs/context.hpp"

namespace rkv::soft::cm {

const SharedDevice* shared_device() {
  static std::mutex mutex;
  static SharedDevice device;
  const std::scoped_lock lock(mutex);
  if (device.context == nullptr) device.context = ibv_open_device(soft_device());
  if (device.context != nullptr && device.pd == nullptr) device.pd = ibv_alloc_pd(device.context);
  return device.pd == nullptr ? nullptr : &device;
}

}  // namespace rkv::soft::cm
