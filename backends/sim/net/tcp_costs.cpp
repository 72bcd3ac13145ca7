#include "backends/sim/net/tcp_costs.hpp"

#include <cmath>

namespace rkv::sim {
namespace {

// The host's scheduler costs (syscall, wake_cost) are at its own clock already (cpu/host.cpp).
double clock_factor(const CpuProfile& cpu) {
  return cpu.costs_measured_at_ghz <= 0 ? 1 : cpu.costs_measured_at_ghz / cpu.clock_ghz;
}

}  // namespace

TcpCosts::TcpCosts(const TcpProfile& tcp, const HostProfile& host)
    : system_call_(host.scheduler.syscall),
      fall_asleep_(host.scheduler.fall_asleep),
      wake_(host.scheduler.wake_cost),
      switch_footprint_bytes_(tcp.switch_footprint_bytes),
      ps_per_byte_(tcp.ns_per_byte * ps_in_ns) {
  const double factor = clock_factor(host.cpu);
  const auto scaled = [factor](Ps cost) {
    return static_cast<Ps>(std::llround(static_cast<double>(cost) * factor));
  };
  send_ = system_call_ + scaled(tcp.send);
  receive_ = system_call_ + scaled(tcp.receive);
  empty_receive_ = system_call_ + scaled(tcp.empty_receive);
  select_ = system_call_ + scaled(tcp.select);
  epoll_ = system_call_ + scaled(tcp.epoll);
  soft_interrupt_ = scaled(tcp.soft_interrupt);
  after_switch_ = scaled(tcp.after_switch);
  after_idle_ = scaled(tcp.after_idle);
  early_ = scaled(tcp.early);
  elsewhere_ = scaled(tcp.elsewhere);
}

Ps TcpCosts::copy(std::size_t bytes) const {
  return static_cast<Ps>(std::llround(static_cast<double>(bytes) * ps_per_byte_));
}

}  // namespace rkv::sim
