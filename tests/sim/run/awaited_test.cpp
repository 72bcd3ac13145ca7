// What it costs a server's one thread to await each completion before it goes on.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

constexpr std::uint32_t many = 8;

// Operations a second, by one worker.
double rate(Exchange exchange, bool awaited, std::uint32_t clients) {
  Scenario scenario = golden_scenario(Transport::rc, CompletionMode::busy);
  scenario.exchange = exchange;
  scenario.queue_pair.await_send_completion = awaited;
  scenario.server.workers = 1;
  scenario.load.total_operations = std::uint64_t{200} * clients;
  return simulate_point(Profile{}, scenario, clients, {}).result.throughput_ops_s();
}

TEST_CASE("a server that awaits its WRITEs or READs does one at a time, whatever the clients", "[awaited]") {
  const auto exchange = GENERATE(Exchange::write_write, Exchange::read_write, Exchange::read_read);
  CAPTURE(static_cast<int>(exchange));
  CHECK(rate(exchange, true, many) < 1.1 * rate(exchange, true, many / 2));
  CHECK(rate(exchange, false, many) > 1.5 * rate(exchange, true, many));
}

TEST_CASE("a server that posts nothing has nothing to await", "[awaited]") {
  CHECK(rate(Exchange::write_read, true, many) > 1.8 * rate(Exchange::write_read, true, many / 2));
}

}  // namespace
}  // namespace rkv::sim::test
