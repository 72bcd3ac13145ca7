// Points of workload verbs: what is done and counted, and what ends it. Nothing here depends on how long
// anything takes.
#include "core/verbs_load/verbs_load_point.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "tests/port/port_fixture.hpp"
#include "tests/support/repetitions.hpp"

namespace rkv::test {
namespace {

using namespace std::chrono_literals;
using Operation = VerbsOptions::Operation;

// READs that are watched, and what nobody watches.
struct Kind {
  Operation operation = Operation::read;
  bool watch = true;

  [[nodiscard]] Method method() const { return operation == Operation::read ? Method::get : Method::set; }
};
constexpr Kind watched_reads{Operation::read, true};
constexpr Kind blind_reads{Operation::read, false};
constexpr Kind writes{Operation::write, true};
constexpr Kind sends{Operation::send, true};
constexpr Kind additions{Operation::fetch_and_add, true};

Scenario study(const Kind& kind, std::uint64_t operations) {
  Scenario scenario;
  scenario.name = "test";
  scenario.transport = Transport::rc;
  scenario.workload = Workload::verbs;
  scenario.load.total_operations = operations;
  scenario.verbs.operation = kind.operation;
  scenario.verbs.watch = kind.watch;
  scenario.verbs.memory_bytes = 4096;
  if (scenario.verbs.atomic()) scenario.verbs.bytes = atomic_bytes;
  return scenario;
}

// Looks every now and then, by the port's time, until it holds.
void wait_until(const Port& port, const std::function<bool()>& holds) {
  const auto stop = port.runtime->make_stop_flag();
  while (!holds()) port.runtime->sleep_until(port.runtime->now() + 100us, *stop);
}

// `meanwhile`, where given, is called when the clients have started.
PointResult run_point(const Scenario& scenario, std::uint32_t clients,
                      const std::function<void(VerbsLoadPoint&, const Port&)>& meanwhile = {}) {
  PointResult result;
  with_ports(scenario.transport, [&](const PortPair& ports) {
    VerbsLoadPoint point(ports.client, ports.server, scenario, clients);
    point.start(ports.client.runtime->now());
    if (meanwhile) meanwhile(point, ports.client);
    result = point.collect(Instant{});
    CHECK(point.finished());
  });
  return result;
}

// All were done and counted, and nothing else.
void require_whole(const PointResult& point, Method method, std::uint64_t operations, std::uint32_t clients) {
  CHECK(point.partial_reason.empty());
  CHECK(point.clients == clients);
  CHECK(point.operations.of(method, ResponseCode::ok) == operations);
  CHECK(point.operations.total() == operations);
  CHECK(point.client.threads == clients);
  REQUIRE(point.per_client.size() == clients);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < clients; ++i) {
    CHECK(point.per_client[i].client == i);
    CHECK(point.per_client[i].operations >= operations / clients);
    sum += point.per_client[i].operations;
  }
  CHECK(sum == operations);
  CHECK(point.latency.count() > 0);
}

TEST_CASE("READs are counted as GET, others as SET, as many as asked for", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, writes, sends, additions);
  const std::uint32_t clients = GENERATE(1U, 2U);
  const std::uint64_t operations = GENERATE(2U, 301U);
  const PointResult point = run_point(study(kind, operations), clients);
  require_whole(point, kind.method(), operations, clients);
  CHECK(point.latency.count() == operations);
  const bool received = kind.operation == Operation::send;
  CHECK(point.server.threads == (received ? clients : 0));
  CHECK(point.server_work.served == (received ? operations : 0));
}

TEST_CASE("requests that are posted together are all done, whatever is signalled", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes, sends, additions);
  const std::uint64_t operations = GENERATE(1U, 50U, 301U);
  Scenario scenario = study(kind, operations);
  scenario.queue_pair.doorbell_batch = GENERATE(2U, 7U, 16U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 5U, 64U);
  scenario.load.window = GENERATE(16U, 21U);
  scenario.queue_pair.receive_depth = 64;
  require_whole(run_point(scenario, 1), kind.method(), operations, 1);
}

TEST_CASE("operations go to any place of a multiple, and no byte further", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes, sends, additions);
  Scenario scenario = study(kind, 400);
  scenario.verbs.memory_bytes = 71;  // places from 0 to 7, or to 63 of eight bytes
  if (!scenario.verbs.atomic()) scenario.verbs.bytes = 64;
  scenario.verbs.alignment_bytes = scenario.verbs.atomic() ? 8 : GENERATE(1U, 4U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 5U);
  scenario.load.window = 8;
  require_whole(run_point(scenario, 1), kind.method(), 400, 1);
}

TEST_CASE("posting together over several queue pairs, in rounds and both ways", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, writes, sends);
  Scenario scenario = study(kind, 400);
  scenario.queue_pair.doorbell_batch = 4;
  scenario.queue_pair.inline_bytes = GENERATE(0U, 64U);
  scenario.verbs.queue_pairs = 3;
  scenario.verbs.rounds = GENERATE(false, true);
  scenario.verbs.both_ways = GENERATE(false, true);
  scenario.load.window = 8;
  const PointResult point = run_point(scenario, 2);
  CHECK(point.operations.of(kind.method(), ResponseCode::ok) == 400);
  CHECK(point.partial_reason.empty());
}

TEST_CASE("SENDs: few threads receive for many clients, and post receives anew together", "[verbs_load]") {
  Scenario scenario = study(sends, 600);
  scenario.server.workers = GENERATE(1U, 2U, 7U);
  scenario.queue_pair.receive_depth = GENERATE(4U, 16U);
  scenario.queue_pair.receive_batch = GENERATE(1U, 3U, 4U);
  scenario.load.window = 8;
  const PointResult point = run_point(scenario, 3);
  require_whole(point, Method::set, 600, 3);
  CHECK(point.server.threads == std::min(scenario.server.workers, 3U));
  CHECK(point.server_work.served == 600);
}

TEST_CASE("SENDs: receivers that sleep", "[verbs_load]") {
  Scenario scenario = study(sends, 200);
  scenario.completion.mode =
      GENERATE(CompletionMode::event, CompletionMode::event_batch, CompletionMode::hybrid);
  scenario.load.window = 4;
  const PointResult point = run_point(scenario, 2);
  require_whole(point, Method::set, 200, 2);
  CHECK(point.server_work.served == 200);
}

TEST_CASE("SENDs over UC are counted when they have left, and those that came are told", "[verbs_load]") {
  Scenario scenario = study(sends, 300);
  scenario.transport = Transport::uc;
  scenario.queue_pair.receive_depth = 400;  // so that none is lost
  const PointResult point = run_point(scenario, 1);
  require_whole(point, Method::set, 300, 1);
  CHECK(point.server_work.served == 300);
}

TEST_CASE("windows of one and of many", "[verbs_load]") {
  Scenario scenario = study(GENERATE(watched_reads, writes), 300);
  scenario.load.window = GENERATE(2U, 8U, 64U, 400U);
  const PointResult point = run_point(scenario, 1);
  CHECK(point.operations.total() == 300);
  CHECK(point.latency.count() == 300);
  CHECK(point.partial_reason.empty());
}

TEST_CASE("a quota is done and counted whole whatever is signalled", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes);
  const std::uint64_t operations = GENERATE(1U, 2U, 50U, 301U);
  Scenario scenario = study(kind, operations);
  scenario.queue_pair.signal_interval = GENERATE(2U, 5U, 64U);
  scenario.load.window = GENERATE(1U, 8U);
  scenario.verbs.queue_pairs = GENERATE(1U, 3U);
  const PointResult point = run_point(scenario, 1);
  require_whole(point, kind.method(), operations, 1);
  if (kind.operation == Operation::read && kind.watch) {
    CHECK(point.latency.count() == operations);
  } else if (operations > 2) {
    CHECK(point.latency.count() < operations);  // who watches nothing learns of few ends
  }
}

TEST_CASE("sizes, also the whole of the exposed memory", "[verbs_load]") {
  Scenario scenario = study(GENERATE(watched_reads, writes), 100);
  scenario.verbs.bytes = GENERATE(1U, 64U, 65U, 4096U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 4U);
  scenario.queue_pair.inline_bytes = 64;
  scenario.load.window = 4;
  CHECK(run_point(scenario, 1).operations.total() == 100);
}

TEST_CASE("both ways, over several queue pairs: the clients' side is the point, the other is told beside it",
          "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes);
  Scenario scenario = study(kind, 300);
  scenario.verbs.both_ways = true;
  scenario.verbs.queue_pairs = GENERATE(1U, 10U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 4U);
  scenario.load.window = 8;
  const PointResult point = run_point(scenario, 1);
  require_whole(point, kind.method(), 300, 1);
  CHECK(point.server.threads == 1);
  REQUIRE(point.other_way);
  // Ends that are taken together take no time, and those of a client that got no CPU are none.
  CHECK((point.other_way->throughput_ops_s() > 0) == (point.other_way->measured > 0ns));
  if (point.other_way->measured > 0ns) CHECK(point.other_way->operations > 1);
}

TEST_CASE("both ways by time: the other way takes as long", "[verbs_load]") {
  Scenario scenario = study(GENERATE(watched_reads, writes), 0);
  scenario.load.duration = 2ms;
  scenario.verbs.both_ways = true;
  const PointResult point = run_point(scenario, 2);
  REQUIRE(point.other_way);
  CHECK(point.other_way->measured <= scenario.load.duration);
  if (point.other_way->operations > 1) CHECK(point.other_way->measured > 0ns);
}

TEST_CASE("one way: nothing is told of another", "[verbs_load]") {
  CHECK_FALSE(run_point(study(watched_reads, 10), 1).other_way);
}

TEST_CASE("clients that share queue pairs get their own ends", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, writes);
  const std::uint64_t operations = repetitions(300) + 1;
  Scenario scenario = study(kind, operations);
  scenario.verbs.clients_a_queue_pair = GENERATE(2U, 3U, 100U);
  scenario.verbs.rounds = GENERATE(false, true);
  scenario.verbs.queue_pairs = GENERATE(1U, 2U);
  scenario.load.window = GENERATE(1U, 8U);
  const PointResult point = run_point(scenario, 3);
  require_whole(point, kind.method(), operations, 3);
  CHECK(point.latency.count() == operations);
}

TEST_CASE("sharing both ways, and a stop while ends are under way", "[verbs_load]") {
  Scenario scenario = study(watched_reads, 300);
  scenario.verbs.clients_a_queue_pair = 2;
  scenario.verbs.both_ways = true;
  scenario.load.window = 4;
  CHECK(run_point(scenario, 2).operations.total() == 300);
  scenario.load.total_operations = 0;
  scenario.load.duration = 30min;
  const PointResult point = run_point(scenario, 2, [&](VerbsLoadPoint& running, const Port& port) {
    wait_until(port, [&] { return running.operations_done() >= 100; });
    running.stop();
  });
  CHECK_FALSE(point.partial_reason.empty());
  CHECK(point.operations.total() >= 100);
}

TEST_CASE("rounds: whatever is signalled, all of a quota is done", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes);
  Scenario scenario = study(kind, 301);
  scenario.verbs.rounds = true;
  scenario.queue_pair.signal_interval = GENERATE(1U, 5U);
  scenario.load.window = GENERATE(1U, 8U);
  scenario.verbs.queue_pairs = 2;
  require_whole(run_point(scenario, 1), kind.method(), 301, 1);
}

TEST_CASE("UC carries WRITEs", "[verbs_load]") {
  Scenario scenario = study(writes, 300);
  scenario.transport = Transport::uc;
  scenario.load.window = 8;
  scenario.queue_pair.signal_interval = GENERATE(1U, 16U);
  scenario.verbs.queue_pairs = 2;
  scenario.verbs.both_ways = GENERATE(false, true);
  require_whole(run_point(scenario, 1), Method::set, 300, 1);
}

TEST_CASE("clients that block", "[verbs_load]") {
  using enum CompletionMode;
  Scenario scenario = study(GENERATE(watched_reads, writes), 200);
  scenario.completion.mode = GENERATE(event, event_batch, adaptive, hybrid);
  scenario.load.window = GENERATE(1U, 8U);
  CHECK(run_point(scenario, 1).operations.total() == 200);
  scenario.queue_pair.signal_interval = 4;
  scenario.verbs.watch = false;
  CHECK(run_point(scenario, 1).operations.total() == 200);
}

struct Ended {
  PointResult point;
  std::uint64_t done = 0;  // as it said itself when all clients had ended
};

Ended run_to_end(const Scenario& scenario, std::uint32_t clients) {
  Ended ended;
  ended.point = run_point(scenario, clients, [&](VerbsLoadPoint& running, const Port& port) {
    wait_until(port, [&] { return running.finished(); });
    ended.done = running.operations_done();
  });
  return ended;
}

TEST_CASE("operations of the warm-up are done and not counted", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes);
  const std::uint32_t clients = GENERATE(1U, 2U);
  Scenario scenario = study(kind, 100);
  scenario.load.warm_up_operations = 70;
  scenario.load.window = 4;
  scenario.queue_pair.signal_interval = GENERATE(1U, 16U);
  const auto [point, done] = run_to_end(scenario, clients);
  require_whole(point, kind.method(), 100, clients);
  CHECK(done == 100 + clients * 70);
}

TEST_CASE("a duration ends it", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes);
  const std::uint32_t clients = GENERATE(1U, 2U);
  Scenario scenario = study(kind, 0);
  scenario.load.duration = 500us;
  scenario.load.warm_up = GENERATE(0us, 100us);
  scenario.load.connect_pause = 100us;
  scenario.load.start_stagger = GENERATE(0us, 200us);
  scenario.load.window = 4;
  scenario.queue_pair.signal_interval = GENERATE(1U, 16U);
  const auto [point, done] = run_to_end(scenario, clients);
  CHECK(point.partial_reason.empty());
  CHECK(done >= clients);
  CHECK(point.operations.total() <= done);
  // A client that got no CPU in its time has measured nothing.
  if (point.window.empty()) return;
  CHECK(point.window.length() <= scenario.load.duration + (clients - 1) * scenario.load.start_stagger);
}

TEST_CASE("a stop ends it early, whatever is under way, and says so", "[verbs_load]") {
  const Kind kind = GENERATE(watched_reads, blind_reads, writes, sends);
  Scenario scenario = study(kind, 0);
  scenario.load.duration = 30min;
  scenario.load.window = GENERATE(1U, 8U);
  scenario.queue_pair.signal_interval = GENERATE(1U, 16U);
  scenario.verbs.both_ways = GENERATE(false, true);
  const PointResult point = run_point(scenario, 1, [&](VerbsLoadPoint& running, const Port& port) {
    CHECK_FALSE(running.finished());
    wait_until(port, [&] { return running.operations_done() >= 100; });
    running.stop();
  });
  CHECK(point.partial_reason == "client 0: stopped");
  CHECK(point.operations.of(kind.method(), ResponseCode::ok) >= 100);
  CHECK(point.operations.total() == point.per_client.at(0).operations);
}

TEST_CASE("a stop wakes a client that has not begun or that blocks", "[verbs_load]") {
  Scenario scenario = study(watched_reads, 0);
  scenario.completion.mode = CompletionMode::event;
  scenario.load.duration = 30min;
  scenario.load.connect_pause = 30min;
  const PointResult point =
      run_point(scenario, 1, [](VerbsLoadPoint& running, const Port&) { running.stop(); });
  CHECK(point.partial_reason == "client 0: stopped");
  CHECK(point.operations.total() == 0);
}

TEST_CASE("a point that nobody collects is stopped with it", "[verbs_load]") {
  Scenario scenario = study(watched_reads, 0);
  scenario.load.duration = 30min;
  scenario.verbs.both_ways = true;
  with_ports(Transport::rc, [&](const PortPair& ports) {
    VerbsLoadPoint point(ports.client, ports.server, scenario, 1);
    point.start(ports.client.runtime->now());
    wait_until(ports.client, [&] { return point.operations_done() > 0; });
  });
}

}  // namespace
}  // namespace rkv::test
