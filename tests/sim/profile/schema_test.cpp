// The schema, the values' defaults in code and what is written agree.
#include "backends/sim/profile/schema.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "backends/sim/profile/load.hpp"
#include "tests/support/schema_leaves.hpp"

namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Without "base", and with "hosts" as what it stands for.
std::set<std::string> value_leaves() {
  json schema = rkv::sim::profile_schema().document();
  schema["properties"].erase("base");
  schema["properties"].erase("hosts");
  return rkv::test::schema_leaves(schema);
}

}  // namespace

TEST_CASE("the profile's schema and the code know the same fields", "[sim]") {
  std::set<std::string> written;
  const json flat = rkv::sim::to_json(rkv::sim::Profile{}).flatten();
  for (const auto& [name, value] : flat.items()) {
    std::size_t end = name.npos;
    for (const std::string list : {"/walk/", "/lines/"}) {
      if (const auto at = name.find(list); at != name.npos) end = at + list.size() - 1;
    }
    written.insert(name.substr(0, end));
  }
  CHECK(written == value_leaves());
}

TEST_CASE("the profile's defaults in the schema are the code's", "[sim]") {
  const json document = rkv::sim::to_json(rkv::sim::Profile{});
  for (const std::string& leaf : value_leaves()) {
    INFO(leaf);
    const json& schema = *rkv::sim::profile_schema().at(Pointer(leaf));
    if (leaf == "/name") {
      CHECK_FALSE(schema.contains("default"));
    } else {
      CHECK(document.at(Pointer(leaf)) == schema.at("default"));
    }
  }
}

TEST_CASE("a profile that gives nothing is the defaults", "[sim]") {
  rkv::sim::Profile expected;
  expected.name = "profile";
  CHECK(rkv::sim::parse_profile("{}", "test") == expected);
}

TEST_CASE("every value of a profile says what it is, its limits and where its default comes from", "[sim]") {
  for (const std::string& leaf : value_leaves()) {
    const json& schema = *rkv::sim::profile_schema().at(Pointer(leaf));
    INFO(leaf);
    CHECK(schema.value("description", "").size() > 4);
    CHECK((leaf == "/name" || leaf == "/description" || !schema.value("$comment", "").empty()));
    const std::string type = schema.value("type", "");
    if (type == "integer" || type == "number") {
      CHECK((schema.contains("maximum") || schema.contains("exclusiveMaximum")));
      CHECK((schema.contains("minimum") || schema.contains("exclusiveMinimum")));
    }
  }
}
