// The schema, the values' defaults in code and what is written agree.
#include "core/scenario/schema.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/scenario/fields.hpp"
#include "tests/support/schema_leaves.hpp"

namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

std::set<std::string> schema_leaves() {
  std::set<std::string> leaves = rkv::test::schema_leaves(rkv::scenario_schema().document());
  leaves.erase("/preset");  // these two stand for other fields
  leaves.erase("/sweep");
  return leaves;
}

json everything_written() {
  rkv::Scenario scenario;
  scenario.client_completion.emplace();
  scenario.device.gid_index = 0;
  scenario.device.doorbell_registers = 16;
  return rkv::write_fields(scenario);
}

}  // namespace

TEST_CASE("the schema and the code know the same fields") {
  std::set<std::string> written;
  const json document = everything_written();
  const json flat = document.flatten();
  for (const auto& [name, value] : flat.items()) {
    std::string place = name;
    if (place.starts_with("/clients/")) {
      place = "/clients";
    }
    written.insert(place);
  }
  for (const std::string& leaf : schema_leaves()) {
    INFO(leaf);
    CHECK(document.contains(Pointer(leaf)));
  }
  for (const std::string& place : written) {
    INFO(place);
    CHECK(rkv::scenario_schema().at(Pointer(place)) != nullptr);
  }
}

TEST_CASE("the schema's defaults are the code's") {
  const json document = everything_written();
  for (const std::string& leaf : schema_leaves()) {
    const json& schema = *rkv::scenario_schema().at(Pointer(leaf));
    if (!schema.contains("default")) {
      continue;
    }
    INFO(leaf);
    CHECK(document.at(Pointer(leaf)) ==
          (leaf == "/clients" ? json::array({schema["default"]}) : schema["default"]));
  }
}

TEST_CASE("every field says what it is, in words, with limits") {
  for (const std::string& leaf : schema_leaves()) {
    const json& schema = *rkv::scenario_schema().at(Pointer(leaf));
    INFO(leaf);
    CHECK(schema.value("description", "").size() > 5);
    const std::string type = schema.value("type", "");
    if (type == "integer" || type == "number") {
      CHECK(schema.contains("maximum"));
      CHECK((schema.contains("minimum") || schema.contains("exclusiveMinimum")));
    }
    if (type == "string" && !schema.contains("enum")) {
      CHECK(schema.contains("maxLength"));
    }
  }
}
