#include "core/workload/operation_stream.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/workload/value_text.hpp"
#include "tests/workload/statistics.hpp"
#include "tests/workload/test_scenario.hpp"

using rkv::Method;
using rkv::Operation;
using rkv::scenario_with;

namespace {

struct Drawn {
  Operation operation;
  std::vector<std::byte> key;
  std::vector<std::byte> value;
};

std::vector<Drawn> draw(const rkv::Scenario& scenario, std::uint32_t client, std::uint32_t clients,
                        int count) {
  rkv::OperationStream stream(scenario, client, clients);
  std::vector<std::byte> key(rkv::largest_key_bytes(scenario));
  std::vector<std::byte> value(rkv::largest_value_bytes(scenario));
  std::vector<Drawn> drawn;
  rkv::Work work;
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const Operation operation = stream.next(key, value, work);
    drawn.push_back({operation,
                     {key.begin(), key.begin() + operation.key_bytes},
                     {value.begin(), value.begin() + operation.value_bytes}});
    bytes += operation.key_bytes + operation.value_bytes;
    CHECK((operation.method == Method::set || operation.value_bytes == 0));
  }
  CHECK(work.bytes_copied == bytes);
  return drawn;
}

bool same(const std::vector<Drawn>& a, const std::vector<Drawn>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].operation.method != b[i].operation.method || a[i].key != b[i].key || a[i].value != b[i].value) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a seed draws the same operations, another seed or client others") {
  rkv::Scenario scenario = scenario_with(R"("preset": "ycsb_a")");
  const auto first = draw(scenario, 1, 4, 500);
  CHECK(same(first, draw(scenario, 1, 4, 500)));
  CHECK_FALSE(same(first, draw(scenario, 2, 4, 500)));
  scenario.seed = 2;
  CHECK_FALSE(same(first, draw(scenario, 1, 4, 500)));
}

TEST_CASE("changing the mix leaves the drawn keys as they are") {
  const auto reads = draw(scenario_with(R"("operations": {"get": 1, "set": 0})"), 0, 1, 200);
  const auto mixed = draw(scenario_with(R"("operations": {"get": 1, "set": 1})"), 0, 1, 200);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    CHECK(reads[i].operation.key_id == mixed[i].operation.key_id);
  }
}

TEST_CASE("operations have their weights") {
  std::map<Method, std::uint64_t> counted;
  for (const Drawn& d :
       draw(scenario_with(R"("operations": {"get": 5, "set": 3, "del": 1, "ping": 1})"), 0, 1, 50'000)) {
    ++counted[d.operation.method];
    if (d.operation.method == Method::ping) {
      CHECK(d.operation.key_bytes + d.operation.value_bytes == 0);
    }
  }
  const std::vector<std::uint64_t> counts{counted[Method::get], counted[Method::set], counted[Method::del],
                                          counted[Method::ping]};
  CHECK(std::abs(rkv::excess_of_chi_square(counts, {0.5, 0.3, 0.1, 0.1}, 50'000)) < 5);
}

TEST_CASE("a SET's value tells its key, version and writer") {
  std::uint64_t version = 0;
  for (const Drawn& d : draw(scenario_with(R"("operations": {"get": 0, "set": 1},
         "value_size": {"kind": "uniform", "min_bytes": 0, "max_bytes": 200})"),
                             2, 4, 300)) {
    const rkv::ValueTag tag{d.operation.key_id, ++version, 2, d.operation.value_bytes};
    CHECK(d.operation.version == version);
    CHECK(rkv::is_value(tag, d.value));
  }
}

TEST_CASE("keys of the clients' own are nobody else's") {
  const rkv::Scenario scenario = scenario_with(R"("keys": {"count": 20, "scope": "per_client"})");
  std::set<std::string> mine;
  for (const Drawn& d : draw(scenario, 0, 4, 1000)) {
    CHECK(d.operation.key_id % 4 == 0);
    mine.insert(rkv::text_of(d.key));
  }
  CHECK(mine.size() == 20);
  for (const Drawn& d : draw(scenario, 1, 4, 1000)) {
    CHECK(mine.count(rkv::text_of(d.key)) == 0);
  }
}

TEST_CASE("sequential keys come one after another") {
  const rkv::Scenario own =
      scenario_with(R"("keys": {"distribution": "sequential", "count": 10, "scope": "per_client"})");
  std::uint64_t index = 0;
  for (const Drawn& d : draw(own, 3, 4, 25)) {
    CHECK(d.operation.key_id == (index++ % 10) * 4 + 3);
  }
  const rkv::Scenario shared = scenario_with(R"("keys": {"distribution": "sequential", "count": 10})");
  CHECK(draw(shared, 1, 2, 1)[0].operation.key_id == 5);
}

TEST_CASE("zipf keys: a few are hot, and they are apart") {
  const rkv::Scenario scenario =
      scenario_with(R"("keys": {"distribution": "zipf", "theta": 1.2, "count": 1000})");
  std::map<std::uint64_t, int> counts;
  for (const Drawn& d : draw(scenario, 0, 1, 20'000)) {
    ++counts[d.operation.key_id];
  }
  std::vector<std::pair<int, std::uint64_t>> hottest;
  for (const auto& [key, count] : counts) {
    hottest.emplace_back(count, key);
  }
  std::sort(hottest.rbegin(), hottest.rend());
  // P(rank 1) = 1 / sum of r^-1.2 up to 1000 = 1 / 4.3358
  CHECK(hottest[0].first / 20'000.0 == Approx(1 / 4.3358).epsilon(0.05));
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(std::max(hottest[i].second, hottest[0].second) - std::min(hottest[i].second, hottest[0].second) >
          5);
  }
}

TEST_CASE("latest: SETs make new keys, and reads prefer the newest") {
  const rkv::Scenario scenario = scenario_with(R"("preset": "ycsb_d", "keys": {"count": 1000})");
  std::uint64_t newest = 999;
  std::uint64_t reads = 0;
  std::uint64_t of_newest = 0;
  for (const Drawn& d : draw(scenario, 1, 2, 20'000)) {
    const std::uint64_t index = d.operation.key_id / 2;
    REQUIRE(d.operation.key_id % 2 == 1);
    if (d.operation.method == Method::set) {
      REQUIRE(index == ++newest);
    } else {
      REQUIRE(index <= newest);
      ++reads;
      of_newest += index == newest ? 1 : 0;
    }
  }
  CHECK(newest > 1500);
  // The sum of r^-0.99 up to 1000 and up to 2000 is 7.73 and 8.47: the newest is read about once in 8 times.
  CHECK(static_cast<double>(of_newest) / static_cast<double>(reads) == Approx(1 / 8.1).epsilon(0.07));
}

TEST_CASE("a read-modify-write is a GET and then a SET of its key") {
  const rkv::Scenario scenario = scenario_with(R"("preset": "ycsb_f")");
  const auto drawn = draw(scenario, 0, 1, 10'000);
  int sets = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i].operation.method == Method::set) {
      ++sets;
      REQUIRE(i > 0);
      CHECK(drawn[i - 1].operation.method == Method::get);
      CHECK(drawn[i - 1].operation.key_id == drawn[i].operation.key_id);
    }
  }
  CHECK(sets / 10'000.0 == Approx(1 / 3.0).epsilon(0.05));  // of GET, GET and SET in equal parts
}

TEST_CASE("shares of a total are as even as can be") {
  std::uint64_t sum = 0;
  for (std::uint32_t client = 0; client < 7; ++client) {
    const std::uint64_t share = rkv::share_of(100, client, 7);
    CHECK((share == 14 || share == 15));
    sum += share;
  }
  CHECK(sum == 100);
}
