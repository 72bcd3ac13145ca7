// What is sent over the wire and written into reports reads back as the same scenario.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.hpp"
#include "core/scenario/load.hpp"
#include "core/scenario/schema.hpp"
#include "tests/support/repetitions.hpp"

namespace {

using nlohmann::json;

template <typename T>
T pick(std::mt19937& random, const std::vector<T>& choices) {
  return choices[random() % choices.size()];
}

// A value that the schema allows, often a small one, so that combinations stay possible.
json random_value(const json& schema, std::mt19937& random) {
  if (schema.contains("enum")) {
    return schema["enum"][random() % schema["enum"].size()];
  }
  if (schema.contains("anyOf")) {
    return random_value(schema["anyOf"][random() % schema["anyOf"].size()], random);
  }
  const std::string type = schema.value("type", "");
  if (type == "boolean") {
    return random() % 2 == 0;
  }
  if (type == "integer") {
    const auto low = schema["minimum"].get<std::int64_t>();
    const auto high = schema["maximum"].get<std::int64_t>();
    return std::min<std::int64_t>(
        high, low + static_cast<std::int64_t>(random() % pick<std::uint32_t>(random, {2, 60, 5000})));
  }
  if (type == "number") {
    const double low = schema.contains("minimum") ? schema["minimum"].get<double>() : 0.001;
    return std::min(schema["maximum"].get<double>(), low + static_cast<double>(random() % 100'000) / 1000.0);
  }
  if (type == "array") {
    json values = json::array();
    for (auto count = 1 + random() % 3; count > 0; --count) {
      values.push_back(random_value(schema["items"], random));
    }
    return values;
  }
  return "name-" + std::to_string(random() % 100);
}

json random_document(const json& schema, std::mt19937& random, std::uint32_t one_in) {
  json document = json::object();
  for (const auto& [name, part] : schema["properties"].items()) {
    if (name == "sweep") {
      continue;
    }
    if (part.value("type", "") == "object") {
      json inner = random_document(part, random, one_in);
      if (!inner.empty()) {
        document[name] = std::move(inner);
      }
    } else if (random() % one_in == 0) {
      document[name] = random_value(part, random);
    }
  }
  return document;
}

void check_round_trip(const rkv::Scenario& scenario) {
  const json written = rkv::to_json(scenario);
  INFO(written.dump());
  const rkv::Scenario again = rkv::parse_scenario(written.dump(), "round trip");
  CHECK(again == scenario);
  CHECK(rkv::to_json(again) == written);
}

}  // namespace

TEST_CASE("any accepted scenario reads back as itself") {
  const json schema = rkv::scenario_schema().document();
  std::mt19937 random(7);
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < rkv::test::repetitions(4000); ++i) {
    json document = random_document(schema, random, pick<std::uint32_t>(random, {8, 20, 50}));
    if (!document["load"].contains("duration_s")) {
      document["load"]["total_operations"] = 100'000;
    }
    INFO(document.dump());
    rkv::Scenario scenario;
    try {
      scenario = rkv::parse_scenario(document.dump(), "test");
    } catch (const rkv::InputError&) {
      continue;  // an impossible combination, which a test of its own covers
    }
    ++accepted;
    check_round_trip(scenario);
  }
  CHECK(accepted > rkv::test::repetitions(300));
}

TEST_CASE("what a scenario is by default is all in its JSON") {
  const json written = rkv::to_json(rkv::parse_scenario(R"({"load": {"duration_s": 2}})", "test"));
  CHECK(written["transport"] == "uc");
  CHECK(written["exchange"] == "send_send");
  CHECK(written["clients"] == json::array({1}));
  CHECK(written["load"]["duration_s"] == 2);
  CHECK_FALSE(written["load"].contains("total_operations"));
  CHECK_FALSE(written.contains("socket"));
  CHECK(written["queue_pair"]["receive_depth"] == 16);
  CHECK(written["seed"] == 1);
}

TEST_CASE("a scenario made in code is validated like a file") {
  rkv::Scenario scenario;
  scenario.name = "code";
  scenario.load.total_operations = 5;
  CHECK_NOTHROW(rkv::validate(scenario, "code"));
  scenario.load.window = 99;
  CHECK_THROWS_WITH(rkv::validate(scenario, "code"), Catch::Contains("code: /queue_pair/receive_depth"));
}

TEST_CASE("every scenario that comes with rkv loads and reads back as itself") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RKV_SCENARIOS)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".json") || file == "scenario.schema.json") {
      continue;
    }
    INFO(file);
    ++files;
    for (const rkv::Scenario& scenario : rkv::expand(entry.path())) {
      CHECK_FALSE(scenario.description.empty());
      check_round_trip(scenario);
    }
  }
  CHECK(files >= 15);
}
