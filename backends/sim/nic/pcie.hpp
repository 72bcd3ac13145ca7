// The bus between a host's memory and its card, full duplex. Each direction passes bytes at its bandwidth,
// first come first served:
//
//   read (card asks, data comes)  = latency + [wait + packets x packet + bytes / bandwidth] + latency
//   write (card to memory)        =           [wait + packets x packet + bytes / bandwidth] + latency
//
// A packet has at most pcie_payload_bytes of data (PCIe's Max_Payload_Size). With pcie_cut_by_address it ends
// where addresses are multiples of that, so bytes across one are in two packets. A completion has one of its
// own.
// Writes that wait take credits of the bus and room on the card: pcie_write_backlog says how long they may
// be, in time, when the card still takes in a READ's response (nic.cpp). Doorbells and read requests are
// small and occupy neither direction. Source: Neugebauer et al., "Understanding PCIe performance for end host
// networking" (SIGCOMM 2018); Kalia et al., "Design guidelines for high performance RDMA systems" (ATC 2016):
// DMA reads take a round trip, writes do not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backends/sim/engine/time.hpp"
#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

// What a work request and a completion occupy on the bus: one cache line each (mlx4, mlx5).
inline constexpr std::uint32_t request_bytes = 64;
inline constexpr std::uint32_t completion_bytes = 64;

class Pcie {
 public:
  // Bandwidth: of one direction, more than 0.
  explicit Pcie(const NicProfile& nic)
      : latency_(nic.pcie_latency),
        ps_per_byte_(ps_in_ns / nic.pcie_bandwidth_bytes_per_ns),
        payload_bytes_(nic.pcie_payload_bytes),
        cut_by_address_(nic.pcie_cut_by_address),
        packet_(nic.pcie_packet) {}

  struct Passage {
    Ps waited = 0;
    Ps end = 0;
  };
  // Made in the order of `now`, each of the two.
  Passage read(Ps now, std::uint64_t address, std::uint64_t bytes) {
    const Passage data = pass(now + latency_, bytes, packets(address, bytes), to_card_free_at_);
    return {.waited = data.waited, .end = data.end + latency_};
  }
  // Data, and behind it a completion if there is to be one.
  Passage write(Ps now, std::uint64_t address, std::uint64_t bytes, bool completion) {
    const Passage data = pass(now, bytes + (completion ? completion_bytes : 0),
                              packets(address, bytes) + (completion ? 1 : 0), to_host_free_at_);
    return {.waited = data.waited, .end = data.end + latency_};
  }
  // Bytes that the card fetches on the side, say a context, take the way to the card from those that ask
  // later. How long they are on it themselves: they are not held up, since others ask ahead, for times to
  // come.
  Ps fetch(Ps now, std::uint64_t bytes) {
    if (bytes == 0) return 0;
    const Passage data = read(now, 0, bytes);
    return data.end - data.waited - (now + 2 * latency_);
  }
  [[nodiscard]] Ps latency() const { return latency_; }
  [[nodiscard]] Ps packets(std::uint64_t address, std::uint64_t bytes) const {
    if (bytes == 0) return 0;
    const std::uint64_t before = cut_by_address_ ? address % payload_bytes_ : 0;
    return static_cast<Ps>((before + bytes + payload_bytes_ - 1) / payload_bytes_);
  }
  // How long a write made now would wait.
  [[nodiscard]] Ps write_backlog(Ps now) const { return std::max<Ps>(to_host_free_at_ - now, 0); }

 private:
  Passage pass(Ps ready, std::uint64_t bytes, Ps count, Ps& free_at) const {
    const Ps start = std::max(ready, free_at);
    free_at = start + count * packet_ + std::llround(static_cast<double>(bytes) * ps_per_byte_);
    return {.waited = start - ready, .end = free_at};
  }

  const Ps latency_;
  const double ps_per_byte_;
  const std::uint64_t payload_bytes_;
  const bool cut_by_address_;
  const Ps packet_;
  Ps to_card_free_at_ = 0;
  Ps to_host_free_at_ = 0;
};

}  // namespace rkv::sim
