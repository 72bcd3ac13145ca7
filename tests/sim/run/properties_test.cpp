// The whole of core under many seeds: whatever the network loses, repeats and reorders and however threads
// are preempted, every answer is right, every operation is accounted for, and the run ends.
#include <catch2/catch.hpp>

#include "backends/sim/port/sim_ports.hpp"
#include "backends/sim/run/simulate_point.hpp"
#include "core/workload/rng.hpp"
#include "tests/run/local_point.hpp"
#include "tests/sim/sim_threads.hpp"
#include "tests/support/repetitions.hpp"

namespace rkv::sim::test {
namespace {

using namespace std::chrono_literals;
using rkv::test::checked_scenario;
using rkv::test::PortPair;
using rkv::test::run_local;

const std::uint64_t seeds = rkv::test::repetitions(100);
constexpr std::uint64_t few_operations = 120;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed, 0, Purpose::models) {}
  std::uint32_t from(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(rng_.unit() * (most - least + 1));
  }
  bool one_in(std::uint32_t n) { return from(1, n) == 1; }

 private:
  Rng rng_;
};

Profile random_profile(Draw& draw) {
  Profile profile;
  for (HostProfile* host : {&profile.server, &profile.client}) {
    // Fewer than threads, as a rule.
    host->cpu.cores_per_socket = draw.from(1, 2);
    host->cpu.smt_ways = draw.from(1, 2);
    host->scheduler.kind = draw.one_in(2) ? SchedulerProfile::Kind::cfs : SchedulerProfile::Kind::eevdf;
    host->scheduler.tick = draw.from(1, 4) * ms;
    host->scheduler.interrupt_cpu = draw.one_in(2) ? 0 : -1;
  }
  NicProfile& nic = profile.nic;
  if (draw.one_in(3)) {
    nic.kind = NicProfile::Kind::soft;
    profile.network.one_host = true;
  } else {
    profile.network.client_hosts = draw.from(1, 3);
    nic.processing_units = draw.from(1, 2);
    nic.stalls_for_contexts = draw.one_in(2);
    nic.read_contexts = draw.one_in(2);
    nic.pass_each_packet = draw.one_in(2);
    nic.doorbell_carries_request = draw.one_in(2);
    nic.shared_doorbells = draw.from(0, 3);
    nic.private_doorbells = draw.from(0, 2);
    nic.interrupt_delay = draw.from(0, 1) * 5 * us;
    for (CacheProfile* cache : {&nic.qp_cache, &nic.request_cache, &nic.translation_cache}) {
      cache->entries = draw.from(0, 3);
    }
  }
  nic.retransmit_delay = 100 * us;
  profile.network.loss = 0.01 * draw.from(0, 4);
  profile.network.duplicate = 0.01 * draw.from(0, 4);
  profile.network.reorder = 0.02 * draw.from(0, 4);
  profile.network.reorder_delay = draw.from(1, 3000) * us;  // beyond a time-out, too
  return profile;
}

Scenario random_scenario(Draw& draw, Transport transport, CompletionMode mode, std::uint64_t seed) {
  Scenario scenario = checked_scenario(transport, mode, few_operations);
  scenario.seed = seed;
  scenario.completion.batch = draw.from(1, 8);
  scenario.completion.empty_polls = draw.from(1, 200);
  scenario.completion.spin = std::chrono::nanoseconds(draw.from(1, 10'000));
  scenario.load.window = draw.from(1, 8);
  scenario.store = {.kind = draw.one_in(2) ? StoreOptions::Kind::chained : StoreOptions::Kind::cuckoo,
                    .buckets = draw.from(1, 16)};
  scenario.keys.scope = draw.one_in(2) ? KeyOptions::Scope::shared : KeyOptions::Scope::per_client;
  scenario.keys.count = draw.from(1, 30);
  scenario.value_size.kind = SizeDistribution::Kind::uniform;
  scenario.value_size.min_bytes = 24;
  scenario.value_size.max_bytes = 200;
  scenario.server.workers = draw.from(0, 3);
  scenario.server.ud_queue_pairs = draw.from(1, 2);
  scenario.queue_pair.signal_interval = draw.from(1, 3);
  scenario.queue_pair.inline_bytes = 64 * draw.from(0, 2);
  scenario.queue_pair.await_send_completion = draw.one_in(4);
  scenario.message.format = draw.one_in(3) ? MessageOptions::Format::fixed : MessageOptions::Format::compact;
  scenario.retry = {.timeout = 1ms, .retries = draw.from(3, 9)};
  return scenario;
}

void require_sound(const PointResult& result, Transport transport) {
  for (const std::string& text : result.check_violations.texts) UNSCOPED_INFO(text);
  CHECK(result.check_violations.count == 0);
  CHECK(result.partial_reason.empty());
  CHECK(result.operations.total() + result.lost == few_operations);
  CHECK(result.latency.count() == result.operations.total());
  CHECK(result.server_work.rejected == 0);
  CHECK(result.server_work.broken_sessions == 0);
  // Each operation took effect once, or never when it was given up.
  CHECK(result.server_work.served <= few_operations);
  CHECK(result.server_work.served >= result.operations.total());
  if (transport == Transport::rc || transport == Transport::tcp) {
    CHECK(result.lost == 0);
    CHECK(result.retries == 0);
  }
}

constexpr std::array modes{CompletionMode::busy,     CompletionMode::event,  CompletionMode::event_batch,
                           CompletionMode::adaptive, CompletionMode::hybrid, CompletionMode::shared};

bool possible(Transport transport, CompletionMode mode) {
  return transport != Transport::tcp || mode != CompletionMode::shared;
}

TEST_CASE("whole points under many seeds, on lossy networks and few CPUs", "[properties]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  std::map<std::string, std::uint64_t> faults;
  std::uint64_t preempted = 0;
  std::uint64_t replays = 0;
  for (const CompletionMode mode : modes) {
    if (!possible(transport, mode)) continue;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      CAPTURE(static_cast<int>(transport), static_cast<int>(mode), seed);
      Draw draw(seed);
      const Profile profile = random_profile(draw);
      const Scenario scenario = random_scenario(draw, transport, mode, seed);
      const SimulatedPoint point =
          simulate_point(profile, scenario, draw.from(1, 5), {.simulation = {.seed = seed}, .keep_on = {}});
      require_sound(point.result, transport);
      for (const auto& [fault, count] : point.result.injected_faults) faults[fault] += count;
      preempted += point.result.server.involuntary_switches + point.result.client.involuntary_switches;
      replays += point.result.server_replays;
    }
  }
  // It was no quiet sea.
  CHECK(preempted > 0);
  if (loses_messages(transport)) {
    CHECK(faults["drop"] > 0);
    CHECK(faults["duplicate"] > 0);
    CHECK(faults["reorder"] > 0);
    CHECK(replays > 0);
  }
}

TEST_CASE("the store that is walked, not its model, under many seeds", "[properties]") {
  const auto transport = GENERATE(Transport::tcp, Transport::rc, Transport::uc, Transport::ud);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(static_cast<int>(transport), seed);
    Draw draw(seed);
    const Profile profile = random_profile(draw);
    const CompletionMode mode = modes[seed % (transport == Transport::tcp ? 5 : 6)];
    Scenario scenario = random_scenario(draw, transport, mode, seed);
    scenario.store.kind = StoreOptions::Kind::chained;
    Simulation simulation(profile, {.seed = seed});
    SimPorts ports(simulation, transport);
    simulation.run([&] {
      const PortPair pair{ports.port(0), ports.port(simulation.host_count() - 1)};
      rkv::test::LocalPoint point = run_local(pair, scenario, draw.from(1, 4));
      add_server(point.result, point.server);
      require_sound(point.result, transport);
    });
  }
}

}  // namespace
}  // namespace rkv::sim::test
