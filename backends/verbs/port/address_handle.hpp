// Where a UD send goes: the network address as verbs' handle, and the queue pair there.
#pragma once

#include <infiniband/verbs.h>

#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

class VerbsAddressHandle final : public AddressHandle {
 public:
  // Throws rkv::Error.
  VerbsAddressHandle(ibv_pd* domain, std::string_view device, const PortIdentity& identity,
                     const Endpoint& peer);
  VerbsAddressHandle(const VerbsAddressHandle&) = delete;
  VerbsAddressHandle& operator=(const VerbsAddressHandle&) = delete;
  ~VerbsAddressHandle() override;

  [[nodiscard]] ibv_ah* get() const { return handle_; }
  [[nodiscard]] std::uint32_t queue_pair() const { return queue_pair_; }
  [[nodiscard]] std::uint32_t qkey() const { return qkey_; }

 private:
  ibv_ah* handle_ = nullptr;
  std::uint32_t queue_pair_;
  std::uint32_t qkey_;
};

}  // namespace rkv::verbs
