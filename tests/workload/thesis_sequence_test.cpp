// The operations of the thesis's client, as shared/data's README.md of the published measurements describes
// them.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/workload/operation_stream.hpp"
#include "tests/workload/test_scenario.hpp"

TEST_CASE("the thesis's sequence: 6 % SETs, and GETs of keys that 94 % were never set") {
  constexpr int operations = 100'000;
  const rkv::Scenario scenario = rkv::scenario_with(R"("preset": "thesis")");
  rkv::OperationStream stream(scenario, 2, 4);
  std::vector<std::byte> key(rkv::largest_key_bytes(scenario));
  std::vector<std::byte> value(rkv::largest_value_bytes(scenario));
  rkv::Work work;
  std::set<std::string> keys_set;
  int sets = 0;
  int gets = 0;
  int never_set = 0;
  int minus_one = 0;
  double position = 0;  // of the key asked for, between the first and the newest
  for (int i = 0; i < operations; ++i) {
    const rkv::Operation operation = stream.next(key, value, work);
    const std::string name = rkv::text_of(std::span(key).first(operation.key_bytes));
    if (operation.method == rkv::Method::set) {
      ++sets;
      CHECK(name == "Key from instance 2 count " + std::to_string(i));
      CHECK(rkv::text_of(std::span(value).first(operation.value_bytes)) ==
            "Message from instance 2 count " + std::to_string(i));
      keys_set.insert(name);
      continue;
    }
    REQUIRE(operation.method == rkv::Method::get);
    const std::string prefix = "Key from instance 2 count ";
    REQUIRE(name.starts_with(prefix));
    const int number = std::stoi(name.substr(prefix.size()));
    REQUIRE(number >= -1);
    REQUIRE(number < i);
    ++gets;
    never_set += keys_set.count(name) == 0 ? 1 : 0;
    minus_one += number == -1 ? 1 : 0;
    position += (number + 1) / (i + 1.0);
  }
  CHECK(sets / double{operations} == Approx(0.06).margin(0.003));
  CHECK(never_set / double(gets) == Approx(0.94).margin(0.003));
  CHECK(minus_one > 0);
  CHECK(position / gets == Approx(0.5).margin(0.005));
}
