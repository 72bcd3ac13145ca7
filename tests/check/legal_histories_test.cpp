// No answer of a correct store is ever refused, whatever overlaps, gets lost or is sent twice; and a store
// that goes wrong at random is found out.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/scenario/load.hpp"
#include "tests/check/simulated_store.hpp"

using rkv::SimulatedStore;
using Fault = rkv::SimulatedStore::Fault;

namespace {

rkv::Scenario scenario_with(const std::string& fields) {
  return rkv::parse_scenario(
      R"({"transport": "uc", "load": {"total_operations": 100000, "window": 4}, )" + fields + "}", "test");
}

const char* const long_values = R"("value_size": {"kind": "uniform", "min_bytes": 24, "max_bytes": 40})";
const char* const equal_values = R"("value_size": {"bytes": 60})";
const char* const short_values = R"("value_size": {"kind": "uniform", "min_bytes": 0, "max_bytes": 30})";

void check_no_complaint(const rkv::Scenario& scenario, std::uint32_t clients, std::uint32_t seeds = 20) {
  INFO(rkv::to_json(scenario).dump());
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    SimulatedStore store(scenario, clients, seed);
    const std::vector<std::string> complaints = store.run(4000);
    INFO("seed " << seed << ": " << (complaints.empty() ? "" : complaints.front()));
    CHECK(complaints.empty());
    CHECK(store.answers() > 500);
    CHECK(store.partly_checked() == 0);
  }
}

std::size_t complaints_about(const std::string& fields, Fault fault) {
  return SimulatedStore(scenario_with(fields), 2, 1, fault).run(20'000).size();
}

}  // namespace

TEST_CASE("every history of a correct store is accepted") {
  for (const char* const scope : {"per_client", "shared"}) {
    for (const char* const store : {"cuckoo", "chained"}) {
      for (const char* const preload : {"true", "false"}) {
        for (const char* const values : {long_values, short_values}) {
          const rkv::Scenario scenario =
              scenario_with(std::string(R"("keys": {"count": 3, "scope": ")") + scope + R"(", "preload": )" +
                            preload + R"(}, "store": {"kind": ")" + store +
                            R"("}, "operations": {"get": 5, "set": 3, "del": 2}, )" + values);
          check_no_complaint(scenario, 1, 8);
          check_no_complaint(scenario, 3, 8);
        }
      }
    }
  }
}

TEST_CASE("histories without removals, of one hot key, and of growing keys are accepted") {
  check_no_complaint(
      scenario_with(std::string(R"("keys": {"count": 4}, "operations": {"get": 1, "set": 1}, )") +
                    long_values),
      2);
  check_no_complaint(scenario_with(std::string(R"("keys": {"count": 1, "scope": "per_client"},
                       "operations": {"get": 2, "set": 2, "del": 1}, )") +
                                   long_values),
                     1);
  check_no_complaint(scenario_with(R"("keys": {"distribution": "latest", "scope": "per_client", "count": 5},
                       "operations": {"get": 2, "set": 1})"),
                     2);
  check_no_complaint(scenario_with(R"("preset": "thesis", "store": {"kind": "chained"})"), 2);
}

TEST_CASE("keys beyond the memory's bound are checked without history, and counted") {
  const rkv::Scenario scenario =
      scenario_with(R"("keys": {"count": 50}, "operations": {"get": 1, "set": 1})");
  rkv::Checker checker(scenario, 0, 1, 2);
  rkv::OperationStream stream(scenario, 0, 1);
  std::vector<std::byte> key(rkv::largest_key_bytes(scenario));
  std::vector<std::byte> value(rkv::largest_value_bytes(scenario));
  rkv::Work work;
  std::uint64_t sets = 0;
  while (sets < 40) {
    const rkv::Operation operation = stream.next(key, value, work);
    if (operation.method == rkv::Method::set) {
      ++sets;
      checker.issued(0, operation);
      CHECK_FALSE(checker.answered(0, rkv::ResponseCode::ok, {}));
    }
  }
  CHECK(checker.partly_checked() > 20);
  CHECK(checker.partly_checked() < 40);
}

TEST_CASE("a store that goes wrong is found out") {
  const std::string own = std::string(R"("keys": {"count": 5, "scope": "per_client"},
    "operations": {"get": 5, "set": 3, "del": 2}, )") +
                          equal_values;
  const std::string shared = std::string(R"("keys": {"count": 5},
    "operations": {"get": 5, "set": 3, "del": 2}, )") +
                             equal_values;
  for (const std::string& fields : {own, shared}) {
    INFO(fields);
    CHECK(complaints_about(fields, Fault::none) == 0);
    CHECK(complaints_about(fields, Fault::lose_set) > 0);
    CHECK(complaints_about(fields, Fault::stale_value) > 0);
    CHECK(complaints_about(fields, Fault::other_key) > 0);
    CHECK(complaints_about(fields, Fault::tear_value) > 0);
    CHECK(complaints_about(fields, Fault::keep_deleted) > 0);
    CHECK(complaints_about(fields, Fault::refuse_lock) > 0);
  }
}
