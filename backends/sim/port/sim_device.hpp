// A simulated network device: the card of one simulated host behind the seam. Everything that it makes
// belongs to simulated threads of that host, which run one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/cpu/host.hpp"
#include "backends/sim/nic/card.hpp"
#include "backends/sim/port/sim_completion_queue.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

// The card that a profile describes, on one host.
[[nodiscard]] std::unique_ptr<Card> make_card(Fabric& fabric, const NicProfile& profile, std::uint32_t host);

// What a device of this profile is called and can do.
[[nodiscard]] std::string_view sim_device_name(const NicProfile& profile);
[[nodiscard]] DeviceLimits sim_device_limits(const NicProfile& profile, const NetworkProfile& network);

class SimDevice final : public Device, public EventHandler {
 public:
  // The card is of this host; several devices may share one. Host and card must outlive the device, and it
  // the world's last event.
  SimDevice(World& world, Host& host, Card& card, const NicProfile& profile, const NetworkProfile& network);
  SimDevice(const SimDevice&) = delete;
  SimDevice& operator=(const SimDevice&) = delete;

  // "sim-rnic", "sim-soft".
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

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] Host& host() const { return host_; }
  [[nodiscard]] Card& card() const { return card_; }
  [[nodiscard]] Ps soft_elsewhere() const { return profile_.soft_elsewhere; }
  // CPU time in Ps, by who reads a message that a thread of another CPU wrote.
  [[nodiscard]] double soft_read_a_byte() const { return profile_.soft_read_ns_per_byte * ps_in_ns; }

  // The lock of a queue pair or of its completion queue; null where the profile does not model it.
  [[nodiscard]] std::unique_ptr<SpinLock> make_queue_lock(Transport transport) const;
  // The latter as those have it who poll without a pause.
  [[nodiscard]] std::unique_ptr<PollLock> make_poll_lock(Transport transport) const;

  // --- of completion queues
  // An armed queue has a completion. An RNIC raises an interrupt after its moderation delay, which takes CPU
  // time of the host; the soft one's poster writes the event itself.
  void raise_event(SimCompletionQueue& queue, std::uint32_t number);
  // The queue is no more.
  void forget(std::uint32_t number) { queues_[number] = nullptr; }

  void on_event(std::uint64_t tag) override;

 private:
  enum class Stage : std::uint8_t { interrupt, deliver };
  [[nodiscard]] static std::uint64_t tag(Stage stage, std::uint32_t number) {
    return std::uint64_t{number} << 1 | static_cast<std::uint64_t>(stage);
  }
  void interrupt(const SimCompletionQueue& queue, std::uint32_t number);

  World& world_;
  Host& host_;
  Card& card_;
  const NicProfile profile_;
  const std::string name_;
  const DeviceLimits limits_;
  // By number; null: destroyed, so that events still planned for it find nothing.
  std::vector<SimCompletionQueue*> queues_;
};

}  // namespace rkv::sim
