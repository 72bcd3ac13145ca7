// A store that is put into a stage by stand-ins is like one that has grown into it.
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "backends/sim/run/thesis_stage.hpp"
#include "core/error.hpp"
#include "core/store/modelled_chained_store.hpp"
#include "core/workload/operation_stream.hpp"
#include "core/workload/thesis_text.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/recording_runtime.hpp"

namespace rkv::sim::test {
namespace {

using namespace rkv::test;

constexpr std::uint64_t plenty_bytes = std::uint64_t{1} << 30;
constexpr std::uint32_t clients = 3;
constexpr std::uint32_t buckets = 64;
// The first client begins long before the others, so that its keys stand deeper.
constexpr std::array<int, clients> operations{90'000, 30'000, 30'000};

Scenario thesis() {
  Scenario scenario;
  scenario.keys.distribution = KeyOptions::Distribution::thesis;
  scenario.keys.scope = KeyOptions::Scope::per_client;
  scenario.store = {.kind = StoreOptions::Kind::chained, .buckets = buckets};
  return scenario;
}

struct Met {
  double mean_walk = 0;
  double hit_share = 0;
  double working_set_bytes = 0;
};

class Requests {
 public:
  explicit Requests(const Scenario& scenario)
      : key_(largest_key_bytes(scenario)), value_(largest_value_bytes(scenario)), out_(1024) {}

  // The next operation of the stream. Whether a GET found its key.
  bool perform(OperationStream& stream, Store& store, Work& work) {
    Work drawing;
    const rkv::Operation operation = stream.next(key_, value_, drawing);
    const auto key = std::span<const std::byte>(key_).first(operation.key_bytes);
    if (operation.method == Method::set) {
      const auto value = std::span<const std::byte>(value_).first(operation.value_bytes);
      REQUIRE(store.set(key, value, work) == ResponseCode::ok);
      return false;
    }
    const GetResult result = store.get(key, out_, work);
    if (result.code == ResponseCode::key_error) return false;
    const ThesisKey asked = *read_thesis_key(key);
    std::array<std::byte, thesis_value_max_bytes> expected{};
    const std::uint32_t bytes = write_thesis_value(asked.client, asked.count, expected);
    REQUIRE(result.value_bytes == bytes);
    REQUIRE(std::equal(expected.begin(), expected.begin() + bytes, out_.begin()));
    return true;
  }

 private:
  std::vector<std::byte> key_;
  std::vector<std::byte> value_;
  std::vector<std::byte> out_;
};

// 10,000 operations of each client from the stage on.
std::array<Met, clients> meet(const Scenario& scenario, Store& store) {
  constexpr int count = 10'000;
  std::array<Met, clients> met;
  Requests requests(scenario);
  for (std::uint32_t client = 0; client < clients; ++client) {
    OperationStream stream(scenario, client, clients);
    stream.continue_at(operations[client]);
    Work work;
    int hits = 0;
    for (int i = 0; i < count; ++i) hits += requests.perform(stream, store, work) ? 1 : 0;
    met[client] = {.mean_walk = static_cast<double>(work.entries_walked) / count,
                   .hit_share = static_cast<double>(hits) / count,
                   .working_set_bytes = static_cast<double>(work.working_set_bytes)};
  }
  return met;
}

TEST_CASE("stand-ins are met as often and as deep as entries that have been SET", "[sampling]") {
  Scenario scenario = thesis();
  RecordingRuntime runtime;
  ModelledChainedStore grown(buckets, runtime, plenty_bytes);
  RunSoFar run(clients);
  {
    std::vector<OperationStream> streams;
    for (std::uint32_t client = 0; client < clients; ++client)
      streams.emplace_back(scenario, client, clients);
    Requests requests(scenario);
    Work work;
    std::array<double, clients> done{};
    for (int i = 0; i < operations[0]; ++i) {
      for (std::uint32_t client = 0; client < clients; ++client) {
        if (i < operations[0] - operations[client]) continue;
        requests.perform(streams[client], grown, work);
        ++done[client];
      }
      if (i % 1000 == 999) run.add(done);
    }
  }
  ThesisStage stage(7, clients, buckets, run);
  stage.follow();
  ModelledChainedStore staged(buckets, runtime, plenty_bytes, &stage);
  CHECK(static_cast<double>(staged.entries()) == Approx(grown.entries()).epsilon(0.03));

  scenario.seed = 2;
  const auto of_grown = meet(scenario, grown);
  const auto of_staged = meet(scenario, staged);
  for (std::uint32_t client = 0; client < clients; ++client) {
    CAPTURE(client);
    CHECK(of_staged[client].mean_walk == Approx(of_grown[client].mean_walk).epsilon(0.02));
    CHECK(of_staged[client].hit_share == Approx(of_grown[client].hit_share).margin(0.008));
    CHECK(of_staged[client].working_set_bytes == Approx(of_grown[client].working_set_bytes).epsilon(0.02));
  }
  runtime.play_unlocks();
}

// Keys have had seven digits instead of six or fewer for a while, and fall into chains that are shorter.
TEST_CASE("operations walk as far as a stage says, SETs by the keys that come next", "[sampling]") {
  constexpr std::uint64_t done = 1'050'000;
  constexpr std::uint64_t ahead = 5'000;
  Scenario scenario = thesis();
  RunSoFar run(1);
  run.add(std::vector<double>{done});
  ThesisStage stage(1, 1, buckets, run);
  stage.follow();
  RecordingRuntime runtime;
  Requests requests(scenario);
  Work work;
  constexpr int times = 40;
  for (int seed = 0; seed < times; ++seed) {
    scenario.seed = static_cast<std::uint64_t>(seed);
    ModelledChainedStore store(buckets, runtime, plenty_bytes, &stage);
    OperationStream stream(scenario, 0, 1);
    stream.continue_at(done);
    for (std::uint64_t i = 0; i < ahead; ++i) requests.perform(stream, store, work);
  }
  runtime.play_unlocks();
  const double growth = thesis_set_share * ahead / 2 / buckets * part_walked;
  CHECK(static_cast<double>(work.entries_walked) / (times * ahead) ==
        Approx(stage.mean_walk(0, ahead) + growth).epsilon(0.005));
}

TEST_CASE("an old key stands deep, a new one in front, one that was not SET is missing", "[sampling]") {
  RunSoFar run(1);
  run.add(std::vector<double>{100'000});
  ThesisStage stage(1, 1, 1, run);
  stage.follow();
  TestRuntime runtime;
  ModelledChainedStore store(1, runtime, plenty_bytes, &stage);
  const auto entries = static_cast<double>(stage.entries());
  CHECK(entries == Approx(6'000).epsilon(0.05));
  int found = 0;
  for (int count = 0; count < 100'000; count += 7) {
    Work work;
    const std::string number = std::to_string(count);
    const auto value = get(store, "Key from instance 0 count " + number, work);
    if (!value) {
      REQUIRE(work.entries_walked == stage.entries());
      continue;
    }
    ++found;
    REQUIRE(*value == "Message from instance 0 count " + number);
    REQUIRE(static_cast<double>(work.entries_walked) == Approx(entries * (1 - count / 100'000.0)).margin(2));
  }
  CHECK(found / (100'000 / 7.0) == Approx(0.06).margin(0.006));
  for (const char* strange :
       {"Key from instance 0 count 100000", "Key from instance 0 count -1", "Key from instance 0",
        "Key from instance 1 count 5", "Key from instance 0 count 5x", "another key"}) {
    CAPTURE(strange);
    Work work;
    CHECK_FALSE(get(store, strange, work));
    CHECK(work.entries_walked == stage.entries());
  }
}

TEST_CASE("what is SET on top of stand-ins stands in front of them, until a reset", "[sampling]") {
  RunSoFar run(1);
  run.add(std::vector<double>{1'000});
  ThesisStage stage(1, 1, 1, run);
  stage.follow();
  TestRuntime runtime;
  ModelledChainedStore store(1, runtime, plenty_bytes, &stage);
  Work work;
  REQUIRE(store.set(bytes("new"), bytes("value"), work) == ResponseCode::ok);
  CHECK(work.entries_walked == stage.entries());
  CHECK(work.working_set_bytes > stage.bytes());
  CHECK(store.entries() == stage.entries() + 1);
  Work front;
  CHECK(get(store, "new", front) == "value");
  CHECK(front.entries_walked == 1);
  Work missing;
  CHECK_FALSE(get(store, "missing", missing));
  CHECK(missing.entries_walked == stage.entries() + 1);
  std::string old;
  for (int count = 0; old.empty(); ++count) {
    const std::string key = "Key from instance 0 count " + std::to_string(count);
    if (get(store, key)) old = key;
  }
  CHECK_THROWS_AS(set(store, old, "other"), Error);
  CHECK_THROWS_AS(del(store, old), Error);
  store.reset();
  CHECK(store.entries() == 0);
  CHECK_FALSE(get(store, old));
  CHECK(set(store, old, "other") == ResponseCode::ok);
  CHECK_THROWS_AS(ModelledChainedStore(1, runtime, 1'000, &stage), Error);
}

TEST_CASE("a stage can be followed on and back", "[sampling]") {
  RunSoFar run(2);
  run.add(std::vector<double>{20'000, 0});
  ThesisStage there(1, 2, 16, run);
  there.follow();
  run.add(std::vector<double>{30'000, 10'000});
  there.follow();
  run.forget();
  run.add(std::vector<double>{25'000, 5'000});
  there.follow();
  ThesisStage direct(1, 2, 16, run);
  direct.follow();
  CHECK(there.bytes() == direct.bytes());
  for (std::size_t bucket = 0; bucket < 16; ++bucket) CHECK(there.entries(bucket) == direct.entries(bucket));
  CHECK(run.all_operations_when(0, 12'500) == Approx(15'000));
}

}  // namespace
}  // namespace rkv::sim::test
