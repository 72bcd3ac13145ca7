// What a report says of the machines reads back as the same profile.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "backends/sim/profile/load.hpp"
#include "backends/sim/profile/schema.hpp"
#include "core/error.hpp"
#include "tests/support/mutate_json.hpp"
#include "tests/support/repetitions.hpp"

namespace {

using nlohmann::json;
using rkv::test::repetitions;
using Pointer = json::json_pointer;

// Every nanosecond value is a whole number of picoseconds.
json random_number(const json& schema, std::mt19937_64& random) {
  const double low = schema.contains("minimum") ? schema["minimum"].get<double>() : 0.001;
  const double high = schema.value("maximum", 0.999);
  const auto steps = static_cast<std::uint64_t>((high - low) * 1000);
  const std::uint64_t step =
      random() % 4 == 0 ? random() % (steps + 1) : random() % std::min<std::uint64_t>(steps + 1, 100'000);
  return static_cast<double>(std::llround(low * 1000) + static_cast<std::int64_t>(step)) / 1000.0;
}

json random_table(const char* cost, std::mt19937_64& random) {
  std::set<std::uint64_t> sizes;
  for (auto count = 1 + random() % 8; sizes.size() < count;) {
    sizes.insert(1 + random() % (std::uint64_t{1} << (1 + random() % 50)));
  }
  json points = json::array();
  for (const std::uint64_t bytes : sizes) {
    points.push_back(
        {{"working_set_bytes", bytes}, {cost, static_cast<double>(random() % 1'000'000) / 1000.0}});
  }
  return points;
}

json random_value(const std::string& name, const json& schema, std::mt19937_64& random) {
  if (name == "walk") return random_table("entry_ns", random);
  if (name == "lines") return random_table("line_ns", random);
  if (schema.contains("enum")) {
    return schema["enum"][random() % schema["enum"].size()];
  }
  const std::string type = schema.value("type", "");
  if (type == "boolean") {
    return random() % 2 == 0;
  }
  if (type == "integer") {
    const auto low = schema["minimum"].get<std::int64_t>();
    const auto range = static_cast<std::uint64_t>(schema["maximum"].get<std::int64_t>() - low);
    return low + static_cast<std::int64_t>(
                     random() % (random() % 4 == 0 ? range + 1 : std::min<std::uint64_t>(range, 100) + 1));
  }
  if (type == "array") {
    json list = json::array();
    for (auto count = random() % 4; list.size() < count;) {
      list.push_back(random_value(name, schema["items"], random));
    }
    return list;
  }
  if (type == "number") {
    return random_number(schema, random);
  }
  return "name-" + std::to_string(random() % 100);
}

json random_fields(const json& schema, std::mt19937_64& random) {
  json document = json::object();
  for (const auto& [name, part] : schema["properties"].items()) {
    if (name != "base" && name != "hosts") {
      document[name] =
          part.contains("properties") ? random_fields(part, random) : random_value(name, part, random);
    }
  }
  return document;
}

void make_consistent(json& document, std::mt19937_64& random) {
  for (const char* const side : {"server", "client"}) {
    json& host = document[side];
    const auto cpus = host["cpu"]["sockets"].get<std::int64_t>() *
                      host["cpu"]["cores_per_socket"].get<std::int64_t>() *
                      host["cpu"]["smt_ways"].get<std::int64_t>();
    host["scheduler"]["interrupt_cpu"] =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cpus + 1)) - 1;
    if (host["scheduler"]["balance_interval_ns"] < host["scheduler"]["tick_ns"]) {
      host["scheduler"]["balance_interval_ns"] = 0;
    }
  }
  for (const char* const cache : {"qp_cache", "request_cache", "translation_cache"}) {
    json& values = document["nic"][cache];
    if (random() % 2 == 0) {
      values["bytes"] = 0;
    } else {
      values["entries"] = 0;
      values["bytes_an_entry"] = 1 + random() % 100;
      values["bytes"] = 100 + random() % 1'000'000;
    }
  }
  document["network"]["one_host"] = document["nic"]["kind"] == "soft";
  if (document["network"]["one_host"]) {
    document["network"]["client_hosts"] = 1;
  }
}

json random_document(std::mt19937_64& random) {
  json document = random_fields(rkv::sim::profile_schema().document(), random);
  make_consistent(document, random);
  return document;
}

}  // namespace

TEST_CASE("any profile reads back as itself, and nothing that a file gives is lost", "[sim]") {
  std::mt19937_64 random(11);
  for (std::uint64_t i = 0; i < repetitions(1000); ++i) {
    const json document = random_document(random);
    INFO(document.dump());
    const rkv::sim::Profile profile = rkv::sim::parse_profile(document.dump(), "test");
    const json written = rkv::sim::to_json(profile);
    CHECK(written == document);
    CHECK(rkv::sim::parse_profile(written.dump(), "again") == profile);
  }
}

TEST_CASE("a profile that anything happened to is read or refused", "[sim]") {
  std::mt19937_64 random(12);
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < repetitions(3000); ++i) {
    json document = random_document(random);
    rkv::test::mutate(document, random);
    INFO(document.dump());
    try {
      const rkv::sim::Profile profile = rkv::sim::parse_profile(document.dump(), "test");
      CHECK(rkv::sim::parse_profile(rkv::sim::to_json(profile).dump(), "again") == profile);
    } catch (const rkv::InputError& error) {
      ++refused;
      CHECK_THAT(error.what(), Catch::StartsWith("test: /"));
    }
  }
  CHECK(refused > repetitions(1000));
}
