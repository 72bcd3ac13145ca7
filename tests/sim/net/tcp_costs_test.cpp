// The prices of kernel TCP's calls, with totals worked out by hand.
#include "backends/sim/net/tcp_costs.hpp"

#include <catch2/catch.hpp>

namespace rkv::sim::test {
namespace {

constexpr TcpProfile tcp{.send = 3'000'000,
                         .receive = 1'500'000,
                         .empty_receive = 300'000,
                         .select = 800'000,
                         .epoll = 500'000,
                         .ns_per_byte = 0.2,
                         .soft_interrupt = 2'000'000,
                         .after_switch = 700'000,
                         .after_idle = 900'000,
                         .latency = 2'000'000,
                         .early = 600'000,
                         .elsewhere = 250'000,
                         .header_bytes = 66};

HostProfile host() {
  HostProfile result;
  result.scheduler.syscall = 100'000;
  result.scheduler.wake_cost = 500'000;
  return result;
}

TEST_CASE("a call costs the system call, itself and its bytes") {
  const TcpCosts costs(tcp, host());
  CHECK(costs.system_call() == 100'000);
  CHECK(costs.send(0) == 3'100'000);
  CHECK(costs.send(1000) == 3'300'000);
  CHECK(costs.receive(1000) == 1'800'000);
  CHECK(costs.empty_receive() == 400'000);
  CHECK(costs.select() == 900'000);
  CHECK(costs.epoll() == 600'000);
  CHECK(costs.after_switch() == 700'000);
  CHECK(costs.after_idle() == 900'000);
  CHECK(costs.early() == 600'000);
  CHECK(costs.elsewhere() == 250'000);
}

TEST_CASE("a segment costs its soft interrupt, and a wake-up only when somebody sleeps") {
  const TcpCosts costs(tcp, host());
  CHECK(costs.segment(false) == 2'000'000);
  CHECK(costs.segment(true) == 2'500'000);
}

TEST_CASE("work scales with the clock, copying and what the host has scaled already do not") {
  HostProfile slow = host();
  slow.cpu.clock_ghz = 2;
  slow.cpu.costs_measured_at_ghz = 4;
  const TcpCosts costs(tcp, slow);
  CHECK(costs.system_call() == 100'000);
  CHECK(costs.send(1000) == 6'300'000);
  CHECK(costs.receive(0) == 3'100'000);
  CHECK(costs.empty_receive() == 700'000);
  CHECK(costs.select() == 1'700'000);
  CHECK(costs.epoll() == 1'100'000);
  CHECK(costs.after_switch() == 1'400'000);
  CHECK(costs.after_idle() == 1'800'000);
  CHECK(costs.early() == 1'200'000);
  CHECK(costs.elsewhere() == 500'000);
  CHECK(costs.segment(true) == 4'500'000);
}

}  // namespace
}  // namespace rkv::sim::test
