#include "core/workload/key_space.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/workload/test_scenario.hpp"

using rkv::scenario_with;
using rkv::text_of;

TEST_CASE("every key is preloaded once, with a value that tells so") {
  for (const char* const scope : {"shared", "per_client"}) {
    const rkv::Scenario scenario =
        scenario_with(std::string(R"("keys": {"count": 50, "scope": ")") + scope + R"("},
      "key_size": {"kind": "uniform", "min_bytes": 2, "max_bytes": 30},
      "value_size": {"kind": "uniform", "min_bytes": 0, "max_bytes": 100})");
    const rkv::KeySpace keys(scenario, 3);
    const std::uint64_t expected = scenario.keys.scope == rkv::KeyOptions::Scope::shared ? 50 : 150;
    std::set<std::string> texts;
    std::uint64_t id = 0;
    rkv::for_each_preloaded(scenario, 3,
                            [&](std::span<const std::byte> key, std::span<const std::byte> value) {
                              std::vector<std::byte> again(rkv::largest_key_bytes(scenario));
                              again.resize(keys.write_key(id, again));
                              CHECK(text_of(again) == text_of(key));
                              const rkv::ValueTag tag = keys.preloaded_tag(id++);
                              CHECK(tag.writer == rkv::preload_writer);
                              CHECK(rkv::is_value(tag, value));
                              texts.insert(text_of(key));
                            });
    CHECK(id == expected);
    CHECK(texts.size() == expected);
  }
}

TEST_CASE("nothing is preloaded where the scenario does not want it") {
  const auto preloaded = [](const std::string& fields) {
    int keys = 0;
    rkv::for_each_preloaded(scenario_with(fields), 4, [&](auto, auto) { ++keys; });
    return keys;
  };
  CHECK(preloaded(R"("preset": "thesis")") == 0);
  CHECK(preloaded(R"("keys": {"count": 10, "preload": false})") == 0);
  CHECK(preloaded(R"("keys": {"count": 10})") == 10);
}

TEST_CASE("the thesis's keys and values are its texts") {
  const rkv::Scenario scenario = scenario_with(R"("preset": "thesis")");
  const rkv::KeySpace keys(scenario, 4);
  std::vector<std::byte> out(rkv::largest_value_bytes(scenario));
  const std::uint64_t key = keys.key_id(18, 3);
  CHECK(text_of(std::span(out).first(keys.write_key(key, out))) == "Key from instance 3 count 17");
  CHECK(text_of(std::span(out).first(keys.write_value({key, 1, 3, 0}, out))) ==
        "Message from instance 3 count 17");
  CHECK(text_of(std::span(out).first(keys.write_key(keys.key_id(0, 2), out))) ==
        "Key from instance 2 count -1");
}
