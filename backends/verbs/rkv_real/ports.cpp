#include "backends/verbs/rkv_real/ports.hpp"

#include <fmt/format.h>

namespace rkv::real {

verbs::RealPort& Ports::real_port(const Scenario& scenario) {
  verbs::RealPortOptions options{
      .transport = scenario.transport, .device = scenario.device, .service_host = service_host_};
  if (!device_.empty()) options.device.name = device_;
  std::string key = "tcp";
  if (scenario.transport != Transport::tcp) {
    key = fmt::format("{} {} {}", options.device.name, options.device.port,
                      options.device.gid_index ? std::to_string(*options.device.gid_index) : "-");
    // One opened device serves all three transports.
    options.transport = Transport::rc;
  }
  const std::lock_guard lock(mutex_);
  auto& port = open_[key];
  if (!port) port = std::make_unique<verbs::RealPort>(options);
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
