// The seam's device on libibverbs: any RDMA device that the host has, or soft0.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "backends/verbs/port/device_choice.hpp"
#include "backends/verbs/port/port_identity.hpp"
#include "core/port/device.hpp"

namespace rkv::verbs {

// Thread-safe. Everything it makes must be destroyed before it.
class VerbsDevice final : public Device {
 public:
  // Opens the device that `options` names or picks (device_choice.hpp). Throws rkv::Error.
  explicit VerbsDevice(const DeviceOptions& options);

  [[nodiscard]] std::string_view device_name() const override { return name_; }
  [[nodiscard]] const DeviceLimits& limits() const override { return limits_; }
  std::unique_ptr<MemoryRegion> make_region(std::size_t bytes) override;
  std::unique_ptr<MemoryRegion> make_exposed_region(std::size_t bytes, PeerAccess access) override;
  std::unique_ptr<CompletionQueue> make_completion_queue(std::uint32_t depth, bool blockable) override;
  std::unique_ptr<QueuePair> make_queue_pair(const QueuePairSpec& spec) override;
  std::unique_ptr<SharedReceiveQueue> make_shared_receive_queue(std::uint32_t depth,
                                                                std::uint32_t max_sge) override;
  std::unique_ptr<AddressHandle> make_address_handle(const Endpoint& peer) override;
  std::unique_ptr<SlotWatch> watch_slots(const SlotRange& range) override;

  // True for soft0, which stands in for an RDMA device.
  [[nodiscard]] bool soft() const { return name_ == soft_device_name; }
  // True for soft0 on a loopback address: other hosts can't reach it, nor it them.
  [[nodiscard]] bool stays_on_this_host() const;
  // For reports: name, soft, transport, link_layer, firmware, port, gid, gid_index, mtu_bytes, speed_gbit_s.
  [[nodiscard]] nlohmann::json describe() const;

 private:
  struct DomainDeallocator {
    void operator()(ibv_pd* domain) const { ::ibv_dealloc_pd(domain); }
  };

  Context context_;
  std::string name_;
  std::unique_ptr<ibv_pd, DomainDeallocator> domain_;
  PortIdentity identity_;
  DeviceLimits limits_;
};

}  // namespace rkv::verbs
