// The seam's streams on kernel TCP.
#pragma once

#include <string>

#include "core/port/stream.hpp"

namespace rkv::verbs {

// Thread-safe. Addresses are numeric, IPv4 or IPv6. Its streams and listeners may outlive it.
class TcpNetwork final : public StreamNetwork {
 public:
  // `service_host`: the address listen() binds to.
  explicit TcpNetwork(std::string service_host = "127.0.0.1") : service_host_(std::move(service_host)) {}

  std::unique_ptr<StreamListener> listen(std::uint32_t backlog) override;
  std::unique_ptr<Stream> dial(const StreamAddress& address, const StreamSpec& spec,
                               Instant deadline) override;

 private:
  std::string service_host_;
};

}  // namespace rkv::verbs
