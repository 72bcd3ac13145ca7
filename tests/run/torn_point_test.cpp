// WRITEs and READs of soft0 that move word by word, with pauses in between: in ascending order for every
// exchange over slots, in an order of chance where frames carry a checksum. No answer is wrong.
#include <catch2/catch.hpp>

#include "backends/verbs/soft/fault.h"
#include "tests/run/clean_point.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

class Torn {
 public:
  Torn(bool shuffle_writes, bool shuffle_reads) {
    rkv_soft_faults faults{};
    faults.word_pause_ns = 40;
    faults.shuffle_writes = shuffle_writes ? 1 : 0;
    faults.shuffle_reads = shuffle_reads ? 1 : 0;
    REQUIRE(rkv_soft_set_faults(&faults) == 0);
  }
  ~Torn() { rkv_soft_set_faults(nullptr); }
  Torn(const Torn&) = delete;
  Torn& operator=(const Torn&) = delete;
};

Scenario torn_scenario(Exchange exchange, Transport transport, std::uint64_t operations) {
  Scenario scenario = checked_scenario(transport, CompletionMode::busy, operations);
  scenario.exchange = exchange;
  scenario.load.window = 2;
  scenario.value_size.kind = SizeDistribution::Kind::uniform;
  scenario.value_size.min_bytes = 24;
  scenario.value_size.max_bytes = 256;
  scenario.operations = {.get = 0.5, .set = 0.5};
  return scenario;
}

}  // namespace

TEST_CASE("in ascending order", "[torn]") {
  const auto exchange =
      GENERATE(Exchange::write_write, Exchange::write_read, Exchange::read_write, Exchange::read_read);
  const Scenario scenario = torn_scenario(exchange, Transport::rc, 2000);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const Torn torn(false, false);
    require_clean(run_local(ports, scenario, 1), 2000);
  });
}

TEST_CASE("READs in an order of chance", "[torn]") {
  const auto exchange = GENERATE(Exchange::write_read, Exchange::read_write, Exchange::read_read);
  const Scenario scenario = torn_scenario(exchange, Transport::rc, 2000);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const Torn torn(false, true);
    require_clean(run_local(ports, scenario, 1), 2000);
  });
}

TEST_CASE("WRITEs in an order of chance, over a transport that loses messages", "[torn]") {
  const auto exchange = GENERATE(Exchange::write_write, Exchange::write_send);
  Scenario scenario = torn_scenario(exchange, Transport::uc, 1000);
  scenario.slots.immediate = GENERATE(false, true);
  scenario.retry = {.timeout = 20ms, .retries = 12};
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const Torn torn(true, false);
    require_clean(run_local(ports, scenario, 1), 1000);
  });
}

TEST_CASE("WRITEs and READs in an order of chance, where completions tell of WRITEs", "[torn]") {
  // Frames that come by WRITE over RC have no checksum: that they are whole is the completion's to tell.
  const auto exchange = GENERATE(Exchange::write_write, Exchange::write_read, Exchange::read_write);
  Scenario scenario = torn_scenario(exchange, Transport::rc, 2000);
  scenario.slots.immediate = true;
  scenario.completion.mode = GENERATE(CompletionMode::busy, CompletionMode::event);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const Torn torn(true, true);
    require_clean(run_local(ports, scenario, 1), 2000);
  });
}

TEST_CASE("items that are READ in an order of chance while they are replaced", "[torn]") {
  Scenario scenario = torn_scenario(Exchange::write_write, Transport::rc, 2000);
  scenario.store.kind = StoreOptions::Kind::items;
  scenario.keys.scope = KeyOptions::Scope::shared;
  scenario.keys.count = 3;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const Torn torn(false, true);
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, 2000);
    CHECK(point.result.direct_gets.stale > 0);  // else nothing was replaced
  });
}
