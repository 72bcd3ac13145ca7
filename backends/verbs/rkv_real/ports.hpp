// The real port for each transport, opened when first needed and then kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "backends/verbs/port/real_port.hpp"

namespace rkv::real {

struct PortsOptions {
  std::optional<DeviceOptions> device;      // instead of each scenario's, which may come from another host
  std::string service_host = "127.0.0.1";   // where TCP data connections are served
  std::optional<std::string> meeting_host;  // where server and clients meet; none: all are this process
  bool talks = false;                       // tells on stderr which device was picked
};

// Thread-safe. Must outlive what is made through its ports.
class Ports {
 public:
  explicit Ports(PortsOptions options) : options_(std::move(options)) {}

  // Throws rkv::Error when there is no such device, and InputError when it reaches no other host but has to.
  [[nodiscard]] Port port_for(const Scenario& scenario);
  // The device for reports; empty for TCP.
  [[nodiscard]] nlohmann::json describe(const Scenario& scenario);

 private:
  verbs::RealPort& real_port(const Scenario& scenario);

  const PortsOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<verbs::RealPort>> open_;
};

}  // namespace rkv::real
