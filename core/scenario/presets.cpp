#include "core/scenario/presets.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rkv {
namespace {

using nlohmann::json;

// J. Troost, "Scalability of RDMA transport types in a Key-Value store application", VU Amsterdam, 2021.
constexpr std::string_view thesis = R"({
  "keys": {"distribution": "thesis", "scope": "per_client"},
  "message": {"key_capacity_bytes": 64, "value_capacity_bytes": 256}
})";

// B. F. Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, and the benchmark's
// workloads/workload{a,b,c,d,f}: records of 10 fields of 100 bytes, keys "user" and up to 19 digits, request
// distribution zipfian with the constant 0.99. A key-value store has no fields, so each update writes a
// record.
constexpr std::string_view ycsb = R"({
  "keys": {"distribution": "zipf", "theta": 0.99, "scope": "shared"},
  "key_size": {"kind": "fixed", "bytes": 23},
  "value_size": {"kind": "fixed", "bytes": 1000},
  "message": {"key_capacity_bytes": 23, "value_capacity_bytes": 1000}
})";
constexpr std::string_view ycsb_a = R"({"operations": {"get": 50, "set": 50}})";
constexpr std::string_view ycsb_b = R"({"operations": {"get": 95, "set": 5}})";
constexpr std::string_view ycsb_c = R"({"operations": {"get": 100, "set": 0}})";
// The order in which YCSB's threads insert is one for all; here each client reads its own newest records,
// since a common order would need a counter that the clients share while they are measured.
constexpr std::string_view ycsb_d = R"({"operations": {"get": 95, "set": 5},
  "keys": {"distribution": "latest", "scope": "per_client"}})";
constexpr std::string_view ycsb_f = R"({"operations": {"get": 50, "set": 0, "read_modify_write": 50}})";

// B. Atikoglu et al., "Workload Analysis of a Large-Scale Key-Value Store", SIGMETRICS 2012: the ETC pool's
// 30 GETs a SET, its key sizes (generalised extreme value) and its value sizes (a table for 0 to 14 bytes,
// else generalised Pareto), with the constants as mutilate (Leverich, 2014) has them too. Values are cut at
// 4096 bytes, which 0.16 % exceed, keys at memcached's 250. The paper gives no formula for how often each key
// is asked for; YCSB's zipf stands in.
constexpr std::string_view etc = R"({
  "operations": {"get": 30, "set": 1},
  "keys": {"distribution": "zipf", "theta": 0.99, "scope": "shared"},
  "key_size": {"kind": "generalised_extreme_value", "location": 30.7984, "scale": 8.20449, "shape": 0.078688,
    "min_bytes": 13, "max_bytes": 250},
  "value_size": {"kind": "generalised_pareto", "location": 0, "scale": 214.476, "shape": 0.348238,
    "min_bytes": 0, "max_bytes": 4096,
    "discrete_bytes": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
    "discrete_weights": [0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023,
      0.00837, 0.00837, 0.08989, 0.00092, 0.00326, 0.01980]},
  "message": {"key_capacity_bytes": 250, "value_capacity_bytes": 4096}
})";

json preset_fields(const std::string& name, Problems& problems) {
  if (name == "thesis") {
    return json::parse(thesis);
  }
  if (name == "etc") {
    return json::parse(etc);
  }
  std::string_view variant;
  if (name == "ycsb_a") {
    variant = ycsb_a;
  } else if (name == "ycsb_b") {
    variant = ycsb_b;
  } else if (name == "ycsb_c") {
    variant = ycsb_c;
  } else if (name == "ycsb_d") {
    variant = ycsb_d;
  } else if (name == "ycsb_f") {
    variant = ycsb_f;
  } else if (name == "ycsb_e") {
    problems.add("/preset",
                 "given \"ycsb_e\", whose operations are scans of neighbouring keys; this store keeps no "
                 "order of keys. Allowed: ycsb_a, ycsb_b, ycsb_c, ycsb_d, ycsb_f, etc, thesis");
    return json::object();
  } else {
    problems.add("/preset",
                 "given \"sys\"; Atikoglu et al. (SIGMETRICS 2012) show Facebook's SYS pool only in plots, "
                 "without a formula or table to draw from. Give operations, key_size and value_size "
                 "yourself, or use etc, which the paper models");
    return json::object();
  }
  json fields = json::parse(ycsb);
  fields.merge_patch(json::parse(variant));
  return fields;
}

}  // namespace

nlohmann::json apply_preset(const nlohmann::json& document, Problems& problems) {
  if (!document.contains("preset")) {
    return document;
  }
  json merged = preset_fields(document["preset"].get<std::string>(), problems);
  merged.merge_patch(document);
  merged.erase("preset");
  return merged;
}

}  // namespace rkv
