#include "backends/verbs/port/device_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "backends/verbs/port/system_error.hpp"

namespace rkv::verbs {
namespace {

class DeviceList {
 public:
  DeviceList() : devices_(::ibv_get_device_list(&count_)) {
    // Without the kernel's RDMA modules there is no list at all: the same as an empty one.
    if (devices_ == nullptr && errno != ENOSYS && errno != ENOENT) {
      throw system_error("RDMA devices", "ibv_get_device_list", errno);
    }
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (devices_ != nullptr) ::ibv_free_device_list(devices_);
  }
  [[nodiscard]] std::span<ibv_device*> get() const {
    return {devices_, devices_ == nullptr ? 0 : static_cast<std::size_t>(count_)};
  }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

std::string port_state(ibv_context* context, std::uint32_t port) {
  ibv_port_attr attributes{};
  const int failure = ::ibv_query_port(context, static_cast<std::uint8_t>(port), &attributes);
  if (failure != 0) return fmt::format("has no port {}", port);
  return fmt::format("port {} is {}", port, ::ibv_port_state_str(attributes.state));
}

bool port_is_active(ibv_context* context, std::uint32_t port) {
  ibv_port_attr attributes{};
  return ::ibv_query_port(context, static_cast<std::uint8_t>(port), &attributes) == 0 &&
         attributes.state == IBV_PORT_ACTIVE;
}

std::string describe(ibv_device* device, std::uint32_t port) {
  const std::string name = ::ibv_get_device_name(device);
  const Context context(::ibv_open_device(device));
  if (!context) return name + " (cannot be opened by this user)";
  return fmt::format("{} ({})", name, port_state(context.get(), port));
}

Context open(ibv_device* device) {
  Context context(::ibv_open_device(device));
  if (!context) throw system_error(::ibv_get_device_name(device), "ibv_open_device", errno);
  return context;
}

}  // namespace

Context open_device(const DeviceOptions& options) {
  if (options.doorbell_registers) {
    // libmlx5 reads it when a device is opened; other drivers have no such choice.
    ::setenv("MLX5_TOTAL_UUARS", std::to_string(*options.doorbell_registers).c_str(), 1);
  }
  const DeviceList list;
  ibv_device* soft = nullptr;
  for (ibv_device* device : list.get()) {
    const std::string_view name = ::ibv_get_device_name(device);
    if (name == options.name) return open(device);
    if (name == soft_device_name) soft = device;
  }
  if (options.name == "auto") {
    for (ibv_device* device : list.get()) {
      if (device == soft) continue;
      Context context(::ibv_open_device(device));
      if (context && port_is_active(context.get(), options.port)) return context;
    }
    if (soft != nullptr) return open(soft);
  }
  std::vector<std::string> present;
  for (ibv_device* device : list.get()) present.push_back(describe(device, options.port));
  const std::string wanted = options.name == "auto"
                                 ? fmt::format("no RDMA device with an active port {}", options.port)
                                 : fmt::format("no RDMA device '{}'", options.name);
  throw Error(fmt::format("{}; there is: {}", wanted,
                          present.empty() ? "none" : fmt::format("{}", fmt::join(present, ", "))));
}

}  // namespace rkv::verbs
