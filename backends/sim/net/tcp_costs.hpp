// What kernel TCP costs on one host. Formulas (the profile's terms):
//
//   send(2), n bytes      syscall + send + n * ns_per_byte
//   recv(2), n bytes      syscall + receive + n * ns_per_byte
//   recv(2), none there   syscall + empty_receive
//   select(2)             syscall + select
//   epoll_wait(2)         syscall + epoll
//   asleep in these       fall_asleep more
//   first, behind another  after_switch more: code and data of TCP have left the caches that are nearest
//     thread on its CPU
//   first, on a CPU that   after_idle more (if after_switch is not larger, and due)
//     was idle
//   a segment received    soft_interrupt [+ wake_cost, when a thread sleeps until it comes]
//                         [+ elsewhere, on one host, when it is received on another CPU than the sender's]
//
// On one host a receiver on another CPU than the sender's sees a segment `early` before that is over.
//
// The split into calls, copying and receive processing in the soft interrupt follows Cai et al.,
// "Understanding Host Network Stack Overheads", SIGCOMM 2021. CPU costs are scaled by the host's clock,
// copying is not.
#pragma once

#include <cstddef>

#include "backends/sim/profile/profile.hpp"

namespace rkv::sim {

class TcpCosts {
 public:
  TcpCosts(const TcpProfile& tcp, const HostProfile& host);

  [[nodiscard]] Ps system_call() const { return system_call_; }
  [[nodiscard]] Ps send(std::size_t bytes) const { return send_ + copy(bytes); }
  [[nodiscard]] Ps receive(std::size_t bytes) const { return receive_ + copy(bytes); }
  [[nodiscard]] Ps empty_receive() const { return empty_receive_; }
  [[nodiscard]] Ps select() const { return select_; }
  [[nodiscard]] Ps epoll() const { return epoll_; }
  [[nodiscard]] Ps fall_asleep() const { return fall_asleep_; }
  [[nodiscard]] std::uint64_t switch_footprint_bytes() const { return switch_footprint_bytes_; }
  [[nodiscard]] Ps after_switch() const { return after_switch_; }
  [[nodiscard]] Ps after_idle() const { return after_idle_; }
  [[nodiscard]] Ps early() const { return early_; }
  [[nodiscard]] Ps elsewhere() const { return elsewhere_; }
  [[nodiscard]] Ps segment(bool wakes) const { return soft_interrupt_ + (wakes ? wake_ : 0); }

 private:
  [[nodiscard]] Ps copy(std::size_t bytes) const;

  Ps system_call_;
  Ps send_;
  Ps receive_;
  Ps empty_receive_;
  Ps select_;
  Ps epoll_;
  Ps fall_asleep_;
  Ps soft_interrupt_;
  Ps after_switch_;
  Ps after_idle_;
  Ps wake_;
  Ps early_;
  Ps elsewhere_;
  std::uint64_t switch_footprint_bytes_;
  double ps_per_byte_;
};

}  // namespace rkv::sim
