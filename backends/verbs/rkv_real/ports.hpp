// The real port for each transport, opened when first needed and then kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/verbs/port/real_port.hpp"

namespace rkv::real {

// Thread-safe. Must outlive what is made through its ports.
class Ports {
 public:
  // device: "" takes each scenario's. service_host: where TCP data connections are served.
  Ports(std::string device, std::string service_host)
      : device_(std::move(device)), service_host_(std::move(service_host)) {}

  [[nodiscard]] Port port_for(const Scenario& scenario);
  // The device for reports; empty for TCP.
  [[nodiscard]] nlohmann::json describe(const Scenario& scenario);

 private:
  verbs::RealPort& real_port(const Scenario& scenario);

  const std::string device_;
  const std::string service_host_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<verbs::RealPort>> open_;
};

}  // namespace rkv::real
