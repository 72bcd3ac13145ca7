// Server and client loops over every transport and completion strategy, every response checked. Written once
// against core, built with each backend.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/scenario/load.hpp"
#include "core/scenario/server_queues.hpp"
#include "tests/run/clean_point.hpp"
#include "tests/support/repetitions.hpp"

using namespace rkv;
using namespace rkv::test;
using namespace std::chrono_literals;

TEST_CASE("every transport serves in every completion mode", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud, Transport::tcp);
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event, CompletionMode::event_batch,
                             CompletionMode::adaptive, CompletionMode::hybrid, CompletionMode::shared);
  if (transport == Transport::tcp && mode == CompletionMode::shared) return;  // sockets share no queue
  // More spinning threads than cores take turns by the millisecond.
  const std::uint64_t operations = mode == CompletionMode::busy ? 60 : 600;
  Scenario scenario = checked_scenario(transport, mode, operations);
  CAPTURE(static_cast<int>(transport), static_cast<int>(mode));
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.server.counts.served == operations);
    CHECK(point.result.client.threads == 3);
    CHECK(point.server.usage.threads == 3);
  });
}

TEST_CASE("clients that stay wait on until the last one has ended", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud, Transport::tcp);
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event);
  Scenario scenario = checked_scenario(transport, mode, 4);
  scenario.load.start_stagger = 200ms;
  scenario.load.stay_until_all_end = true;
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_clean(point, 4);
    // The second begins at 200 ms, and real threads some time after they are made: were the first to leave,
    // all would be less than 200 ms and an operation.
    CHECK(point.result.client.thread_wall_time >= 300ms);
  });
}

TEST_CASE("as the thesis does it: fixed messages, each send awaited", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud, Transport::tcp);
  Scenario scenario = checked_scenario(transport, CompletionMode::event, 400);
  scenario.message.format = MessageOptions::Format::fixed;
  scenario.store.kind = StoreOptions::Kind::chained;
  scenario.keys.distribution = KeyOptions::Distribution::thesis;
  scenario.keys.preload = false;
  scenario.operations = {.get = 0.94, .set = 0.06};
  scenario.client_overhead.kind = ClientOverhead::Kind::thesis;
  if (transport == Transport::tcp) {
    scenario.socket.server_wait = SocketOptions::Wait::select;
  } else {
    scenario.queue_pair.receive_depth = 5;
    scenario.queue_pair.await_send_completion = true;
    scenario.server.ud_receive_lock = transport == Transport::ud;
  }
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 4);
    require_clean(point, 400);
    CHECK(point.server.counts.work.entries_walked > 0);
  });
}

TEST_CASE("windows, selective signalling and inline sends", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const auto interval = GENERATE(1U, 5U, 16U);
  const std::uint64_t operations = repetitions(3000);
  Scenario scenario = checked_scenario(transport, CompletionMode::event_batch, operations);
  scenario.load.window = 8;
  scenario.queue_pair.signal_interval = interval;
  scenario.queue_pair.inline_bytes = GENERATE(0U, 64U);
  scenario.queue_pair.await_send_completion = interval == 5;
  with_ports(transport,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), operations); });
}

TEST_CASE("receives are posted anew in chains", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::event_batch, CompletionMode::shared);
  const auto batch = GENERATE(2U, 7U);
  const std::uint64_t operations = repetitions(1500);
  Scenario scenario = checked_scenario(transport, mode, operations);
  scenario.load.window = 5;
  scenario.queue_pair.receive_batch = batch;
  // As few as the scenario's check accepts over RC and UC: with fewer, UC would lose messages.
  const std::uint32_t takers = mode == CompletionMode::shared ? 3 : 1;
  scenario.queue_pair.receive_depth = 5 + takers * (batch - 1);
  if (mode == CompletionMode::shared)
    scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event};
  scenario.clients = {3};
  validate(scenario, "test");
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.result.retries == 0);
  });
}

TEST_CASE("receives that are posted when no request is left are enough for RC", "[point]") {
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event, CompletionMode::event_batch,
                             CompletionMode::shared);
  const auto window = GENERATE(1U, 4U);
  // A request that comes too early costs 0.64 ms, and so do those behind it.
  const std::uint64_t operations = mode == CompletionMode::busy ? 60 : repetitions(600);
  Scenario scenario = checked_scenario(Transport::rc, mode, operations);
  scenario.load.window = window;
  scenario.queue_pair.receives_after_drain = true;
  scenario.queue_pair.receive_depth = GENERATE(1U, 3U);
  scenario.server.workers = mode == CompletionMode::shared ? 2 : 1;
  scenario.completion.await_event = mode == CompletionMode::event_batch;
  if (mode == CompletionMode::shared) {
    scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event};
  }
  scenario.clients = {3};
  validate(scenario, "test");
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.server.counts.served == operations);
  });
}

TEST_CASE("queue pairs that share receives serve all clients", "[point]") {
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event, CompletionMode::event_batch,
                             CompletionMode::shared);
  const bool few = GENERATE(true, false);
  const std::uint64_t operations = mode == CompletionMode::busy ? 60 : 900;
  Scenario scenario = checked_scenario(Transport::rc, mode, operations);
  scenario.load.window = 8;
  scenario.queue_pair.shared_receive_queue = true;
  scenario.queue_pair.per_client = few ? 2 : 1;
  scenario.server.workers = mode == CompletionMode::busy ? 1 : 3;
  if (mode == CompletionMode::shared) {
    scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event};
  }
  if (few) {  // 24 requests for 11 receives: RC's wait
    scenario.queue_pair.receive_scope = QueuePairOptions::ReceiveScope::in_all;
    scenario.queue_pair.receive_depth = 11;
    scenario.queue_pair.receive_batch = 2;
  }
  scenario.clients = {3};
  validate(scenario, "test");
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.server.counts.served == operations);
    CHECK(point.result.per_client.size() == 3);
  });
}

TEST_CASE("requests and responses are posted in chains", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc, Transport::ud);
  const auto mode = GENERATE(CompletionMode::event, CompletionMode::event_batch, CompletionMode::shared);
  const auto batch = GENERATE(3U, 8U);
  const std::uint64_t operations = repetitions(1500);
  Scenario scenario = checked_scenario(transport, mode, operations);
  scenario.load.window = 8;
  scenario.queue_pair.doorbell_batch = batch;
  scenario.queue_pair.signal_interval = GENERATE(1U, 5U, 16U);
  scenario.queue_pair.receive_batch = 3;
  if (mode == CompletionMode::shared) {
    scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event_batch};
  }
  scenario.clients = {3};
  validate(scenario, "test");
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.result.retries == 0);
    CHECK(point.server.counts.served == operations);
  });
}

TEST_CASE("a client's requests are spread over its queue pairs", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::uc);
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event, CompletionMode::event_batch,
                             CompletionMode::shared);
  const std::uint64_t operations = mode == CompletionMode::busy ? 60 : repetitions(1500);
  Scenario scenario = checked_scenario(transport, mode, operations);
  scenario.load.window = 8;
  scenario.queue_pair.per_client = GENERATE(3U, 8U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 4U);
  if (mode != CompletionMode::busy) {
    scenario.queue_pair.receive_batch = 2;
    scenario.queue_pair.doorbell_batch = 2;
  }
  // As few as the scenario's check accepts: UC would lose what goes over another one's.
  const std::uint32_t takers = mode == CompletionMode::shared ? 2 : 1;
  scenario.queue_pair.receive_depth =
      window_a_queue_pair(scenario) + takers * (scenario.queue_pair.receive_batch - 1);
  // Of three clients one worker has two, and the other one.
  scenario.server.workers = mode == CompletionMode::busy ? 1 : 2;
  if (mode == CompletionMode::shared) {
    scenario.client_completion = CompletionPolicy{.mode = CompletionMode::event_batch};
  }
  scenario.clients = {3};
  validate(scenario, "test");
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, operations);
    CHECK(point.result.retries == 0);
    CHECK(point.server.counts.served == operations);
  });
}

TEST_CASE("requests of an open loop do not wait for others to be posted with", "[point]") {
  Scenario scenario = checked_scenario(Transport::uc, CompletionMode::event, 40);
  scenario.load.window = 8;
  scenario.queue_pair.doorbell_batch = 8;
  scenario.load.arrivals = {.kind = Arrivals::Kind::constant, .rate_ops_s = 1000};
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, 40);
    CHECK(point.result.timeouts == 0);
    CHECK(point.result.latency.quantile_ns(0.25) < 4'000'000);  // seven others come in 7 ms
  });
}

TEST_CASE("a window on a byte stream, with messages that do not fit one read", "[point]") {
  Scenario scenario = checked_scenario(Transport::tcp, CompletionMode::event, 2000);
  scenario.load.window = 32;
  scenario.message.value_capacity_bytes = 20'000;
  scenario.value_size.kind = SizeDistribution::Kind::uniform;
  scenario.value_size.min_bytes = 24;
  scenario.value_size.max_bytes = 20'000;
  with_ports(Transport::tcp,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 2), 2000); });
}

TEST_CASE("fewer or more workers than clients", "[point]") {
  const auto transport = GENERATE(Transport::rc, Transport::ud, Transport::tcp);
  const auto workers = GENERATE(1U, 2U, 5U);
  Scenario scenario = checked_scenario(transport, CompletionMode::event, 900);
  scenario.server.workers = workers;
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, 900);
    // A stream has one worker; completion queues may have several.
    CHECK(point.server.usage.threads == (transport == Transport::tcp ? std::min(workers, 3U) : workers));
  });
}

TEST_CASE("UD clients are spread over several queue pairs", "[point]") {
  Scenario scenario = checked_scenario(Transport::ud, CompletionMode::event, 900);
  scenario.server.ud_queue_pairs = 2;
  scenario.server.workers = GENERATE(1U, 3U);
  with_ports(Transport::ud,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 5), 900); });
}

TEST_CASE("clients that share keys see whole values that somebody wrote", "[point]") {
  Scenario scenario = checked_scenario(Transport::rc, CompletionMode::event, 3000);
  scenario.keys.scope = KeyOptions::Scope::shared;
  scenario.keys.distribution = KeyOptions::Distribution::zipf;
  scenario.keys.count = 20;
  scenario.load.window = 4;
  scenario.store.kind = GENERATE(StoreOptions::Kind::chained, StoreOptions::Kind::cuckoo);
  with_ports(Transport::rc,
             [&](const PortPair& ports) { require_clean(run_local(ports, scenario, 3), 3000); });
}

TEST_CASE("operations are split evenly and the warm-up is not measured", "[point]") {
  Scenario scenario = checked_scenario(Transport::uc, CompletionMode::event, 10);
  scenario.load.warm_up_operations = 7;
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 3);
    require_clean(point, 10);
    CHECK(point.server.counts.served == 10 + 3 * 7);
    CHECK(point.result.per_client.at(0).operations == 4);
    CHECK(point.result.per_client.at(1).operations == 3);
    CHECK(point.result.per_client.at(2).operations == 3);
  });
}

TEST_CASE("a run that is bounded by time ends by itself", "[point]") {
  Scenario scenario = checked_scenario(GENERATE(Transport::uc, Transport::tcp), CompletionMode::event, 0);
  scenario.load.duration = 100ms;
  scenario.load.warm_up = 20ms;
  scenario.load.start_stagger = 10ms;
  with_ports(scenario.transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_clean(point, point.result.operations.total());
    CHECK(point.result.operations.total() > 0);
    // Issued in 100 ms after everyone had started; the last response may come later, never earlier than that.
    CHECK(point.result.window.length() > 80ms);
  });
}

TEST_CASE("an open loop issues at its rate and measures from the intended start", "[point]") {
  Scenario scenario = checked_scenario(Transport::rc, CompletionMode::event, 200);
  scenario.load.arrivals = {.kind = GENERATE(Arrivals::Kind::constant, Arrivals::Kind::poisson),
                            .rate_ops_s = 2000};
  scenario.load.window = 4;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2);
    require_clean(point, 200);
    // 200 arrivals at 2000/s take about 100 ms; a closed loop would take a few.
    CHECK(point.result.window.length() > 50ms);
  });
}

TEST_CASE("think time lies between a response and the next request", "[point]") {
  Scenario scenario = checked_scenario(Transport::uc, CompletionMode::event, 20);
  scenario.load.think_time = 5ms;
  with_ports(Transport::uc, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 1);
    require_clean(point, 20);
    CHECK(point.result.window.length() > 19 * 5ms);
  });
}

TEST_CASE("clients that are stopped end at once and keep what they measured", "[point]") {
  const auto transport = GENERATE(Transport::uc, Transport::ud, Transport::tcp);
  const auto mode = GENERATE(CompletionMode::busy, CompletionMode::event);
  Scenario scenario = checked_scenario(transport, mode, 0);
  scenario.load.duration = 1h;
  with_ports(transport, [&](const PortPair& ports) {
    const LocalPoint point = run_local(ports, scenario, 2, [&](ClientPoint& clients, ServerPoint&) {
      sleep_until_holds(ports.client, [&] { return clients.operations_done() >= 20; });
      clients.stop();
    });
    CHECK(point.result.partial());
    CHECK(point.result.operations.total() >= 18);  // all but those in between
    CHECK(point.result.check_violations.count == 0);
  });
}

TEST_CASE("a trace has every measured operation", "[point]") {
  Scenario scenario = checked_scenario(Transport::uc, CompletionMode::event, 100);
  scenario.trace = true;
  with_ports(Transport::uc, [&](const PortPair& ports) {
    std::size_t records = 0;
    const LocalPoint point = run_local(ports, scenario, 2, [&](ClientPoint& clients, ServerPoint&) {
      sleep_until_holds(ports.client, [&] { return clients.finished(); });
      for (const TraceBuffer& trace : clients.traces()) {
        records += trace.records().size();
        for (const TraceRecord& record : trace.records()) CHECK(record.received > record.sent);
      }
    });
    require_clean(point, 100);
    CHECK(records == 100);
    CHECK(point.result.trace_overflow == 0);
  });
}

TEST_CASE("clients that take turns issue in theirs alone", "[point]") {
  constexpr std::uint32_t clients = 4;
  const Transport transport = GENERATE(Transport::tcp, Transport::rc, Transport::ud);
  Scenario scenario = checked_scenario(transport, GENERATE(CompletionMode::busy, CompletionMode::event), 400);
  scenario.trace = true;
  scenario.load.window = GENERATE(1U, 3U);
  scenario.load.turns = {.clients = 2, .length = 300us, .overlap = 20us};
  with_ports(transport, [&](const PortPair& ports) {
    std::size_t out_of_turn = 0;
    const LocalPoint point = run_local(ports, scenario, clients, [&](ClientPoint& run, ServerPoint&) {
      sleep_until_holds(ports.client, [&] { return run.finished(); });
      for (std::uint32_t client = 0; client < clients; ++client) {
        const Turns turns(scenario.load.turns, client, clients);
        for (const TraceRecord& record : run.traces()[client].records()) {
          // Between the look at the clock and the last request lies the making of all of a window.
          const Instant looked = record.sent - 10us;
          if (turns.next(record.sent) > record.sent && turns.next(looked) > looked) ++out_of_turn;
        }
      }
    });
    require_clean(point, 400);
    // A thread may lose its core there, in simulation to the kernel's TCP.
    if (overlaps_are_certain() && transport != Transport::tcp) CHECK(out_of_turn == 0);
  });
}

TEST_CASE("the parts of two client processes make one point", "[point]") {
  Scenario scenario = checked_scenario(Transport::uc, CompletionMode::event, 300);
  with_ports(Transport::uc, [&](const PortPair& ports) {
    ServerPoint server(ports.server, scenario, 5, 1, store_for(ports.server, scenario));
    ClientPoint first(ports.client, scenario, {.first = 0, .count = 3, .of = 5});
    ClientPoint second(ports.client, scenario, {.first = 3, .count = 2, .of = 5});
    for (std::uint32_t c = 0; c < 5; ++c) {
      ClientPoint& part = c < 3 ? first : second;
      const std::uint32_t index = c < 3 ? c : c - 3;
      part.connect(index, server.offer(c), never);
      server.connect(c, part.endpoint(index));
    }
    server.start();
    first.start(ports.client.runtime->now());
    second.start(ports.client.runtime->now());
    PointResult whole = first.collect(Instant{});
    merge(whole, second.collect(Instant{}));
    CHECK(whole.clients == 5);
    CHECK(whole.operations.total() == 300);
    CHECK(whole.check_violations.count == 0);
    CHECK(whole.per_client.size() == 5);
  });
}
