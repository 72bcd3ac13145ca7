#include "backends/verbs/rkv_real/ports.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.hpp"

namespace rkv::real {
namespace {

void tell_pick(const verbs::VerbsDevice& device) {
  fmt::print(stderr, "rkv-real: device auto: {}{}\n", device.device_name(),
             device.soft() ? ", as no RDMA device has an active port" : "");
}

}  // namespace

verbs::RealPort& Ports::real_port(const Scenario& scenario) {
  verbs::RealPortOptions wanted{.transport = scenario.transport,
                                .device = options_.device.value_or(scenario.device),
                                .service_host = options_.service_host};
  std::string key = "tcp";
  if (scenario.transport != Transport::tcp) {
    key = fmt::format("{} {} {} {}", wanted.device.name, wanted.device.port,
                      wanted.device.gid_index ? std::to_string(*wanted.device.gid_index) : "-",
                      wanted.device.doorbell_registers.value_or(0));
    // One opened device serves all three transports.
    wanted.transport = Transport::rc;
  }
  const std::lock_guard lock(mutex_);
  auto& port = open_[key];
  if (!port) {
    port = std::make_unique<verbs::RealPort>(wanted);
    if (port->device() != nullptr && wanted.device.name == "auto" && options_.talks)
      tell_pick(*port->device());
  }
  if (options_.beyond_process && port->device() != nullptr && port->device()->soft()) {
    throw InputError(fmt::format(
        "{} reaches only its own process, and here server and clients are in several: run without "
        "--role, or with --set transport=tcp, or name an RDMA device (rdma_rxe will do) with "
        "--device on both sides",
        verbs::soft_device_name));
  }
  return *port;
}

Port Ports::port_for(const Scenario& scenario) {
  return real_port(scenario).port();
}

nlohmann::json Ports::describe(const Scenario& scenario) {
  const verbs::VerbsDevice* device = real_port(scenario).device();
  return device == nullptr ? nlohmann::json::object() : device->describe();
}

}  // namespace rkv::real
