// Lost, repeated and reordered messages on soft0: every operation is answered, every SET and DEL takes effect
// once, and what was injected is seen in the counts.
#include <catch2/catch.hpp>

#include "backends/verbs/soft/fault.h"
#include "tests/run/local_point.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

// What is not named is not injected.
struct Injected {
  std::uint64_t seed = 0;
  double drop_probability = 0;
  double duplicate_probability = 0;
  double reorder_probability = 0;
  double rnr_probability = 0;
};
rkv_soft_faults injecting(const Injected& faults) {
  return {.seed = faults.seed,
          .drop_probability = faults.drop_probability,
          .duplicate_probability = faults.duplicate_probability,
          .reorder_probability = faults.reorder_probability,
          .rnr_probability = faults.rnr_probability,
          .delay_ns = 0,
          .word_pause_ns = 0,
          .shuffle_writes = 0,
          .shuffle_reads = 0};
}

class Faults {
 public:
  explicit Faults(const rkv_soft_faults& faults) {
    REQUIRE(rkv_soft_set_faults(&faults) == 0);
    rkv_soft_reset_fault_counters();
  }
  ~Faults() { rkv_soft_set_faults(nullptr); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  [[nodiscard]] static rkv_soft_fault_counters injected() {
    rkv_soft_fault_counters counters{};
    rkv_soft_get_fault_counters(&counters);
    return counters;
  }
};

Scenario lossy_scenario(Transport transport, std::uint64_t operations) {
  Scenario scenario = checked_scenario(transport, CompletionMode::event, operations);
  scenario.retry = {.timeout = 20ms, .retries = 12};
  return scenario;
}

void require_answered(const LocalPoint& point, std::uint64_t operations) {
  for (const std::string& text : point.result.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(point.result.check_violations.count == 0);
  CHECK(point.result.partial_reason.empty());
  CHECK(point.result.operations.total() == operations);
  CHECK(point.result.lost == 0);
}

}  // namespace

TEST_CASE("dropped messages are sent again and nothing is done twice", "[lossy]") {
  const auto transport = GENERATE(Transport::uc, Transport::ud);
  const auto window = GENERATE(1U, 4U);
  Scenario scenario = lossy_scenario(transport, 1000);
  scenario.load.window = window;
  const Faults faults(injecting({.seed = 7, .drop_probability = 0.03}));
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_answered(point, 1000);
    CHECK(Faults::injected().dropped > 0);
    CHECK(point.result.timeouts >=
          Faults::injected().dropped);  // each loss is noticed; a slow one may be too
    CHECK(point.result.retries == point.result.timeouts);
    CHECK(point.server.counts.replays > 0);  // the responses that were lost
    // Each operation is done once, however often its request came.
    CHECK(point.server.counts.served == 1000);
  });
}

TEST_CASE("duplicated and reordered messages are recognised", "[lossy]") {
  const auto transport = GENERATE(Transport::uc, Transport::ud);
  Scenario scenario = lossy_scenario(transport, 1500);
  scenario.load.window = 4;
  const Faults faults(injecting(
      {.seed = 8, .drop_probability = 0.01, .duplicate_probability = 0.05, .reorder_probability = 0.05}));
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_answered(point, 1500);
    CHECK(Faults::injected().duplicated > 0);
    CHECK(Faults::injected().reordered > 0);
    CHECK(point.result.duplicates > 0);
    CHECK(point.server.counts.served == 1500);
  });
}

TEST_CASE("WRITEs with immediate that are lost, repeated and overtaken are sent again and recognised",
          "[lossy]") {
  Scenario scenario = lossy_scenario(Transport::uc, 1000);
  scenario.exchange = GENERATE(Exchange::write_write, Exchange::write_send);
  scenario.slots.immediate = true;
  scenario.load.window = 3;
  const Faults faults(injecting(
      {.seed = 12, .drop_probability = 0.02, .duplicate_probability = 0.05, .reorder_probability = 0.05}));
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_answered(point, 1000);
    CHECK(Faults::injected().dropped > 0);
    CHECK(Faults::injected().duplicated > 0);
    CHECK(point.result.retries > 0);
    CHECK(point.server.counts.served == 1000);
    CHECK(point.server.counts.rejected == 0);
  });
}

TEST_CASE("workers that share a queue do not do a repeated request twice", "[lossy]") {
  Scenario scenario = lossy_scenario(Transport::ud, 1000);
  scenario.server.workers = 3;
  const Faults faults(injecting({.seed = 9, .drop_probability = 0.02, .duplicate_probability = 0.2}));
  with_ports(Transport::ud, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_answered(point, 1000);
    CHECK(point.server.counts.served == 1000);
    CHECK(point.server.counts.replays + point.server.counts.ignored > 0);
  });
}

TEST_CASE("when nothing gets through, operations are given up and counted, and the run ends", "[lossy]") {
  Scenario scenario = lossy_scenario(GENERATE(Transport::uc, Transport::ud), 6);
  scenario.retry = {.timeout = 2ms, .retries = 2};
  const Faults faults(injecting({.seed = 10, .drop_probability = 1}));
  with_ports(scenario.transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    CHECK(point.result.lost == 6);
    CHECK(point.result.retries == 12);
    CHECK(point.result.timeouts == 18);
    CHECK(point.result.operations.total() == 0);
    CHECK(point.result.partial_reason.empty());
  });
}

TEST_CASE("RC waits out a receiver that is not ready", "[lossy]") {
  Scenario scenario = checked_scenario(Transport::rc, CompletionMode::event, 500);
  const Faults faults(injecting({.seed = 11, .rnr_probability = 0.02}));
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_answered(point, 500);
    CHECK(Faults::injected().forced_rnr > 0);
    CHECK(point.result.timeouts == 0);
  });
}
