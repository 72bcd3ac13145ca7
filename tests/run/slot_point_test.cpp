// Server and client loops over the exchanges whose requests and responses lie in slots of memory, every
// response checked. Written once against core, built with each backend.
#include <catch2/catch.hpp>

#include "tests/run/clean_point.hpp"
#include "tests/support/repetitions.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

namespace {

struct Pattern {
  Exchange exchange;
  Transport transport;
  bool immediate = false;
};

// Those that WRITE come first.
constexpr Pattern patterns[] = {
    {Exchange::write_write, Transport::rc}, {Exchange::write_write, Transport::uc},
    {Exchange::write_read, Transport::rc},  {Exchange::read_write, Transport::rc},
    {Exchange::write_send, Transport::uc},  {Exchange::read_read, Transport::rc}};

Scenario slot_scenario(const Pattern& pattern, std::uint64_t operations) {
  Scenario scenario = checked_scenario(pattern.transport, CompletionMode::busy, operations);
  scenario.exchange = pattern.exchange;
  scenario.slots.immediate = pattern.immediate;
  return scenario;
}

// Told of WRITEs by completions.
Pattern any_told_pattern() {
  const auto number = GENERATE(range(0, 5));
  CAPTURE(number);
  Pattern pattern = patterns[number];
  pattern.immediate = true;
  return pattern;
}

Pattern any_pattern() {
  const bool immediate = GENERATE(false, true);
  if (immediate) return any_told_pattern();
  const auto number = GENERATE(range(0, 6));
  CAPTURE(number);
  return patterns[number];
}

}  // namespace

TEST_CASE("every exchange over slots answers rightly", "[slots]") {
  const Pattern pattern = any_pattern();
  const std::uint64_t operations = repetitions(3000);
  const Scenario scenario = slot_scenario(pattern, operations);
  with_ports(pattern.transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, operations);
    CHECK(point.server.counts.served == operations);
    CHECK(point.server.counts.broken_sessions == 0);
  });
}

TEST_CASE("a worker serves several clients' slots in turn, and clients are dealt to several workers",
          "[slots]") {
  const Pattern pattern = any_pattern();
  Scenario scenario = slot_scenario(pattern, 90);
  scenario.server.workers = GENERATE(1U, 2U, 7U);
  with_ports(pattern.transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, 90);
    CHECK(point.server.usage.threads == std::min(scenario.server.workers, 3U));
  });
}

TEST_CASE("windows of slots, with messages of all sizes, signalled now and then or inlined", "[slots]") {
  const Pattern pattern = any_pattern();
  const std::uint64_t operations = repetitions(4000);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.load.window = GENERATE(2U, 8U);
  scenario.value_size.kind = SizeDistribution::Kind::uniform;
  scenario.value_size.min_bytes = 24;
  scenario.value_size.max_bytes = 3000;
  scenario.message.value_capacity_bytes = 3000;
  scenario.queue_pair.signal_interval = GENERATE(1U, 5U);
  scenario.queue_pair.inline_bytes = 128;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 1), operations); });
}

TEST_CASE("sides that await what they post before they go on", "[slots]") {
  const Pattern pattern = any_pattern();
  const std::uint64_t operations = repetitions(600);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.server.workers = 1;  // a CPU less that is polled on
  scenario.queue_pair.await_send_completion = true;
  scenario.queue_pair.signal_interval = GENERATE(1U, 3U);
  scenario.load.window = GENERATE(1U, 4U);
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 3), operations); });
}

TEST_CASE("a client's slots are spread over several queue pairs", "[slots]") {
  const Pattern pattern = any_pattern();
  const std::uint64_t operations = repetitions(2000);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.load.window = 5;
  scenario.queue_pair.per_client = GENERATE(2U, 5U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 3U);
  scenario.queue_pair.await_send_completion = scenario.queue_pair.signal_interval == 1;
  scenario.server.workers = 1;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), operations); });
}

TEST_CASE("a side that READs may sleep until the events of all that it posts", "[slots]") {
  const bool client = GENERATE(true, false);
  Scenario scenario =
      slot_scenario({client ? Exchange::write_read : Exchange::read_write, Transport::rc}, 300);
  const CompletionPolicy sleeping{.mode = CompletionMode::event, .await_event = true};
  scenario.client_completion = client ? sleeping : CompletionPolicy{};
  if (!client) scenario.completion = sleeping;
  scenario.queue_pair.await_send_completion = GENERATE(true, false);
  scenario.load.window = 4;
  with_ports(Transport::rc,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), 300); });
}

TEST_CASE("sides that are told of WRITEs wait for them in any completion mode", "[slots][immediate]") {
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::event_batch, CompletionMode::adaptive,
                             CompletionMode::hybrid);
  const Pattern pattern = any_told_pattern();
  const std::uint64_t operations = repetitions(400);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.completion = {.mode = mode, .empty_polls = 5, .spin = 2us};
  scenario.load.window = GENERATE(1U, 5U);
  scenario.queue_pair.per_client = scenario.load.window == 1 ? 1 : 2;
  scenario.queue_pair.signal_interval = scenario.load.window;
  scenario.server.workers = 1;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), operations); });
}

TEST_CASE("sides that are told of WRITEs may sleep until the events of all that they post",
          "[slots][immediate]") {
  const Pattern pattern = any_told_pattern();
  Scenario scenario = slot_scenario(pattern, 300);
  scenario.completion = {.mode = GENERATE(CompletionMode::event, CompletionMode::event_batch),
                         .await_event = true};
  scenario.queue_pair.await_send_completion = GENERATE(true, false);
  scenario.load.window = 4;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), 300); });
}

TEST_CASE("receives that tell of WRITEs are posted anew, one by one or together", "[slots][immediate]") {
  const Pattern pattern = any_told_pattern();
  const std::uint64_t operations = repetitions(1000);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.completion.mode = CompletionMode::event;
  scenario.load.window = 3;
  scenario.queue_pair.receive_batch = GENERATE(1U, 4U);
  // As many as there must be; over RC one is enough, since WRITEs wait.
  const std::uint32_t fewest = loses_messages(pattern.transport) ? 3 : 1;
  scenario.queue_pair.receive_depth = fewest + scenario.queue_pair.receive_batch - 1;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), operations); });
}

TEST_CASE("a worker that is told of requests sleeps while there are none", "[slots][immediate]") {
  Scenario scenario = slot_scenario({Exchange::write_write, Transport::rc, true}, 20);
  scenario.completion.mode = CompletionMode::event;
  scenario.load.think_time = 5ms;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, 20);
    // Each of the 20 operations comes milliseconds after the one before.
    CHECK(4 * point.server.usage.cpu_time < point.server.usage.thread_wall_time);
    CHECK(point.server.usage.voluntary_switches >= 19);
  });
}

TEST_CASE("fixed messages over slots", "[slots]") {
  const Pattern pattern = any_pattern();
  const std::uint64_t operations = repetitions(500);
  Scenario scenario = slot_scenario(pattern, operations);
  scenario.message.format = MessageOptions::Format::fixed;
  with_ports(pattern.transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 1), operations); });
}

TEST_CASE("a side that READs may sleep until its READ has ended, and pause before the next one", "[slots]") {
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::event_batch, CompletionMode::adaptive,
                             CompletionMode::hybrid);
  const auto pause = GENERATE(0us, 20us);
  const std::uint64_t operations = repetitions(300);
  Scenario scenario = slot_scenario({Exchange::read_read, Transport::rc}, operations);
  scenario.completion.mode = mode;
  scenario.slots.read_pause = pause;
  scenario.load.window = GENERATE(1U, 3U);
  with_ports(Transport::rc,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), operations); });
}

TEST_CASE("GETs that READ items for themselves answer rightly", "[slots][items]") {
  const auto exchange =
      GENERATE(Exchange::write_write, Exchange::write_read, Exchange::read_write, Exchange::read_read);
  const std::uint64_t operations = repetitions(1000);
  Scenario scenario = slot_scenario({exchange, Transport::rc}, operations);
  const auto [pointers, window, clients] =
      GENERATE(table<std::uint32_t, std::uint32_t, std::uint32_t>({{0, 1, 1}, {20, 4, 1}, {1000, 1, 2}}));
  scenario.server.workers = 1;
  scenario.store = {.kind = StoreOptions::Kind::items, .client_pointers = pointers};
  scenario.keys.scope = KeyOptions::Scope::shared;  // so that others replace what a client remembers
  scenario.keys.count = 20;
  scenario.value_size.kind = SizeDistribution::Kind::uniform;
  scenario.value_size.min_bytes = 24;
  scenario.value_size.max_bytes = 200;
  scenario.load.window = window;
  scenario.clients = {clients};
  if (window > 1) scenario.message.format = MessageOptions::Format::fixed;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, scenario.clients[0]);
    require_clean(point, operations);
    const DirectGetCounts& gets = point.result.direct_gets;
    CHECK(gets.remembered + gets.asked - gets.stale ==
          point.result.operations.of(Method::get, ResponseCode::ok));
    CHECK(gets.asked > 0);
    CHECK((gets.remembered > 0) == (scenario.store.client_pointers > 0));
    // Nobody else is served: what is not answered by a READ, and what was asked for.
    CHECK(point.server.counts.served ==
          operations - point.result.operations.of(Method::get, ResponseCode::ok) + gets.asked);
  });
}

TEST_CASE("clients that are told of responses READ items, too", "[slots][items][immediate]") {
  const auto exchange = GENERATE(Exchange::write_write, Exchange::read_write);
  const std::uint64_t operations = repetitions(500);
  Scenario scenario = slot_scenario({exchange, Transport::rc, true}, operations);
  scenario.completion = {.mode = GENERATE(CompletionMode::busy, CompletionMode::event,
                                          CompletionMode::event_batch, CompletionMode::adaptive),
                         .await_event = GENERATE(false, true)};
  scenario.store = {.kind = StoreOptions::Kind::items, .client_pointers = 20};
  scenario.load.window = GENERATE(1U, 3U);
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, operations);
    CHECK(point.result.direct_gets.asked > 0);
  });
}

TEST_CASE("a client that waits for its READs' events, and awaits what it posts, READs items, too",
          "[slots][items]") {
  Scenario scenario = slot_scenario({Exchange::write_read, Transport::rc}, 300);
  scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event, .await_event = true};
  scenario.queue_pair.await_send_completion = true;
  scenario.store.kind = StoreOptions::Kind::items;
  scenario.load.window = GENERATE(1U, 3U);
  with_ports(Transport::rc,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), 300); });
}

TEST_CASE("clients over slots that are stopped end at once and keep what they measured", "[slots]") {
  const Pattern pattern = any_pattern();
  Scenario scenario = slot_scenario(pattern, 0);
  scenario.load.duration = 1h;
  with_ports(pattern.transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1, [&](ClientPoint& clients, ServerPoint&) {
      sleep_until_holds(ports.client, [&] { return clients.operations_done() >= 20; });
      clients.stop();
    });
    CHECK(point.result.partial());
    CHECK(point.result.operations.total() >= 19);
    CHECK(point.result.check_violations.count == 0);
  });
}
