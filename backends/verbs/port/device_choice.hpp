// Opening a device: the one that was named, or the first that can be used.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string_view>

#include "core/scenario/scenario.hpp"

namespace rkv::verbs {

// The device in user space that is there on every machine; every other one counts as real.
inline constexpr std::string_view soft_device_name = "soft0";

struct ContextCloser {
  void operator()(ibv_context* context) const { ::ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, ContextCloser>;

// options.name is a device's name, or "auto": the first real device whose port options.port is active, else
// soft0. Throws rkv::Error saying what devices there are and in what state.
[[nodiscard]] Context open_device(const DeviceOptions& options);

}  // namespace rkv::verbs
