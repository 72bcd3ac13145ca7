// Requests that come before the server has posted a receive for them anew.
#include <catch2/catch.hpp>

#include "backends/sim/run/simulate_point.hpp"
#include "tests/sim/run/golden_profile.hpp"

namespace rkv::sim::test {
namespace {

constexpr std::uint32_t early_clients = 4;

// The longest that a client waited for a response, where each awaits its last before it sends another.
double longest_ns(bool after_drain, std::uint32_t workers, Ps rnr_delay) {
  Scenario scenario = golden_scenario(Transport::rc, CompletionMode::busy);
  scenario.exchange = Exchange::send_send;
  scenario.queue_pair.await_send_completion = true;
  scenario.queue_pair.receive_depth = 1;
  scenario.queue_pair.receives_after_drain = after_drain;
  scenario.server.workers = workers;
  scenario.load.total_operations = std::uint64_t{100} * early_clients;
  Profile profile;
  profile.nic.rnr_delay = rnr_delay;
  const PointResult result = simulate_point(profile, scenario, early_clients, {}).result;
  CHECK(result.operations.total() == scenario.load.total_operations);
  return static_cast<double>(result.latency.max_ns());
}

constexpr Ps long_delay = 3'000'000 * ns;
constexpr double long_delay_ns = 3'000'000;

TEST_CASE("a request that finds no receive is sent again after the card's delay", "[early]") {
  CHECK(longest_ns(true, 1, long_delay) > long_delay_ns);
  // It finds one then, so that it is not refused twice.
  CHECK(longest_ns(true, 1, long_delay) < 1.1 * long_delay_ns);
}

TEST_CASE("receives that are posted with each request are there in time", "[early]") {
  CHECK(longest_ns(false, 1, long_delay) < 0.1 * long_delay_ns);
}

TEST_CASE("a worker of one client's has posted its receive before the response is there", "[early]") {
  CHECK(longest_ns(true, early_clients, long_delay) < 0.1 * long_delay_ns);
}

}  // namespace
}  // namespace rkv::sim::test
