// A queue pair on a simulated card, from the side of the program: checks and CPU costs. nic/ has the rest.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/sim/cpu/spin_lock.hpp"
#include "backends/sim/nic/card.hpp"
#include "core/port/device.hpp"

namespace rkv::sim {

class SimDevice;

// Where a UD send goes.
class SimAddressHandle final : public AddressHandle {
 public:
  explicit SimAddressHandle(const Address& address) : address_(address) {}
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  const Address address_;
};

// Simulated queue pairs as endpoints: the host's number is in the last four bytes of the GID.
[[nodiscard]] Endpoint to_endpoint(const Address& address, std::uint32_t mtu_bytes);
[[nodiscard]] Address to_address(const Endpoint& endpoint);

class SimQueuePair final : public QueuePair {
 public:
  // Throws rkv::Error when the device can't have it so.
  SimQueuePair(SimDevice& device, const QueuePairSpec& spec);
  SimQueuePair(const SimQueuePair&) = delete;
  SimQueuePair& operator=(const SimQueuePair&) = delete;
  ~SimQueuePair() override;

  [[nodiscard]] Endpoint endpoint() const override;
  void connect(const Endpoint& peer) override;
  void fail() override;
  void reset() override;
  // Costs `post_send`, and `post_chained` for each request behind the first, and what its lock does (profile:
  // lock_hand_over_ns); the doorbell is rung when the burst is played up to here. A payload that is not
  // inlined is read then. EINVAL: not connected, more bytes inlined than asked for, outside of the region, an
  // operation that the transport has not, a READ or atomic operation inlined, one of these of another length
  // than eight, one watched that is no unsignalled READ of a byte or more or whose completion queue is
  // blockable, a datagram longer than the path's MTU, or without a destination, or more requests than
  // most_chained.
  [[nodiscard]] int post_sends(std::span<const SendRequest> requests) override;
  // Costs `post_receive`, and `receive_chained` for each request behind the first. The card may use them from
  // where this burst is when nobody preempts it, or stalls it, on the way: an event each would be exact then,
  // too, and cost as much as a message's arrival.
  [[nodiscard]] int post_receives(std::span<const ReceiveRequest> requests) override;

 private:
  [[nodiscard]] bool possible(const SendRequest& request) const;

  SimDevice& device_;
  const Transport transport_;
  const std::uint32_t inline_bytes_;
  bool watches_ = false;  // its send completion queue can be asked for watched READs
  QueuePairSetup setup_;
  std::uint32_t number_ = 0;        // another one after each reset
  std::unique_ptr<SpinLock> lock_;  // null: not modelled
};

}  // namespace rkv::sim
