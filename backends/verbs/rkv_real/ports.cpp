#include "backends/verbs/rkv_real/ports.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <cstdio>

#include "core/error.hpp"

namespace rkv::real {
namespace {

void tell_pick(const verbs::VerbsDevice& device) {
  fmt::print(stderr, "rkv-real: device auto: {}{}\n", device.device_name(),
             device.soft() ? ", as no RDMA device has an active port" : "");
}

// Of a name, its first address; one that isn't known is not.
bool is_loopback(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  bool loopback = false;
  if (found->ai_family == AF_INET6) {
    loopback = IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(found->ai_addr)->sin6_addr);
  } else if (found->ai_family == AF_INET) {
    loopback = ntohl(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr) >> 24 == 127;
  }
  ::freeaddrinfo(found);
  return loopback;
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
  if (options_.meeting_host && !is_loopback(*options_.meeting_host) && port->device() != nullptr &&
      port->device()->stays_on_this_host()) {
    throw InputError(
        fmt::format("{} has a loopback address and reaches processes of this host only, but server and "
                    "clients meet at {}: "
                    "set the environment variable RKV_SOFT_ADDRESS to the address by which the others reach "
                    "this host, on "
                    "both sides, or name an RDMA device with --device",
                    verbs::soft_device_name, *options_.meeting_host));
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
