// Every kind of refusal, with the exact place that it names.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "backends/sim/profile/load.hpp"
#include "core/error.hpp"

namespace {

// The places named, one a line of the message, each after "test: ".
std::vector<std::string> refused_places(const std::string& text) {
  std::vector<std::string> places;
  try {
    rkv::sim::parse_profile(text, "test");
  } catch (const rkv::InputError& error) {
    std::istringstream lines(error.what());
    for (std::string line; std::getline(lines, line);) {
      REQUIRE(line.starts_with("test: /"));
      const std::size_t end = line.find(": ", 6);
      REQUIRE(end != std::string::npos);
      places.push_back(line.substr(6, end - 6));
    }
  }
  return places;
}

struct Bad {
  const char* profile;
  std::vector<std::string> places;
  const char* says;  // a part of the message
};

const std::vector<Bad> table{
    // The schema: unknown, wrong type, out of range.
    {R"({"nics": {}})", {"/nics"}, "allowed here: base, client, description, hosts, name, network"},
    {R"({"hosts": {"cpu": {"core": 4}}})", {"/hosts/cpu/core"}, "cores_per_socket"},
    {R"({"nic": {"rc": {"send": 4}}})", {"/nic/rc/send"}, "send_ns"},
    {R"({"nic": {"x": null}})", {"/nic/x"}, "unknown field"},
    {R"({"server": 4})", {"/server"}, "an object"},
    {R"({"hosts": {"cpu": {"smt_ways": 0}}})", {"/hosts/cpu/smt_ways"}, "a whole number from 1 to 8"},
    {R"({"client": {"cpu": {"smt_ways": 9}}})", {"/client/cpu/smt_ways"}, "given 9"},
    {R"({"hosts": {"cpu": {"smt_throughput": 0}}})", {"/hosts/cpu/smt_throughput"}, "above 0 to 1"},
    {R"({"hosts": {"cpu": {"smt_throughput": 1.01}}})", {"/hosts/cpu/smt_throughput"}, "above 0 to 1"},
    {R"({"server": {"memory": {"bandwidth_bytes_per_ns": 0}}})",
     {"/server/memory/bandwidth_bytes_per_ns"},
     "above 0"},
    {R"({"nic": {"pcie_bandwidth_bytes_per_ns": 0}})", {"/nic/pcie_bandwidth_bytes_per_ns"}, "above 0"},
    {R"({"network": {"link_bandwidth_gbit_s": -1}})", {"/network/link_bandwidth_gbit_s"}, "above 0"},
    {R"({"network": {"loss": 1}})", {"/network/loss"}, "from 0 to below 1"},
    {R"({"network": {"duplicate": -0.1, "reorder": 1.5}})",
     {"/network/duplicate", "/network/reorder"},
     "from 0 to below 1"},
    {R"({"hosts": {"rc": {"empty_poll_ns": 0}}})", {"/hosts/rc/empty_poll_ns"}, "from 0.001"},
    {R"({"hosts": {"ud": {"empty_poll_ns": 0.0004}}})", {"/hosts/ud/empty_poll_ns"}, "from 0.001"},
    {R"({"tcp": {"empty_receive_ns": 0}})", {"/tcp/empty_receive_ns"}, "from 0.001"},
    {R"({"tcp": {"send_ns": -1}})", {"/tcp/send_ns"}, "from 0 to 100000000000"},
    {R"({"tcp": {"send_ns": 1e12}})", {"/tcp/send_ns"}, "given 1000000000000"},
    {R"({"hosts": {"scheduler": {"tick_ns": 0, "slice_ns": 0}}})",
     {"/hosts/scheduler/slice_ns", "/hosts/scheduler/tick_ns"},
     "from 1 "},
    {R"({"hosts": {"scheduler": {"kind": "bfs"}}})", {"/hosts/scheduler/kind"}, R"("cfs", "eevdf")"},
    {R"({"nic": {"qp_cache": {"policy": "clock"}}})", {"/nic/qp_cache/policy"}, R"("lru", "fifo", "random")"},
    {R"({"hosts": {"memory": {"walk": []}}})", {"/hosts/memory/walk"}, "1 at least"},
    {R"({"hosts": {"memory": {"walk": [{"entry_ns": 3}]}}})",
     {"/hosts/memory/walk/0/working_set_bytes"},
     "missing; allowed: a whole number from 1"},
    {R"({"hosts": {"memory": {"walk": [{"working_set_bytes": 1, "entry_ns": -3}]}}})",
     {"/hosts/memory/walk/0/entry_ns"},
     "given -3"},
    {R"({"hosts": {"memory": {"walk": [null]}}})", {"/hosts/memory/walk/0"}, "given null"},
    {R"({"hosts": {"memory": {"lines": [{"working_set_bytes": 2, "line_ns": 1}, {"working_set_bytes": 2, "line_ns": 1}]}}})",
     {"/hosts/memory/lines/1/working_set_bytes"},
     "ascending order"},
    {R"({"name": "../x"})", {"/name"}, R"(given "../x"; allowed: letters, digits and ._=-)"},
    {R"({"base": "das5.json"})", {"/base"}, "one complete profile"},

    // What a schema can't say.
    {R"({"hosts": {"memory": {"walk": [{"working_set_bytes": 2, "entry_ns": 1},
         {"working_set_bytes": 2, "entry_ns": 1}, {"working_set_bytes": 1, "entry_ns": 1}]}}})",
     {"/hosts/memory/walk/1/working_set_bytes", "/hosts/memory/walk/2/working_set_bytes"},
     "given 1 after 2"},
    {R"({"hosts": {"cpu": {"cores_per_socket": 4, "smt_ways": 2}}, "client": {"scheduler": {"interrupt_cpu": 8}}})",
     {"/client/scheduler/interrupt_cpu"},
     "given 8 on a host of 8 CPUs; allowed: 0 to 7, or -1"},
    {R"({"hosts": {"scheduler": {"interrupt_cpu": -2}}})", {"/hosts/scheduler/interrupt_cpu"}, "from -1"},
    {R"({"hosts": {"scheduler": {"interrupt_cpu": 5}}, "client": {"cpu": {"cores_per_socket": 5}}})",
     {"/hosts/scheduler/interrupt_cpu"},
     "on a host of 5 CPUs"},
    {R"({"server": {"scheduler": {"balance_interval_ns": 3999999}}})",
     {"/server/scheduler/balance_interval_ns"},
     "tick_ns, which is 4000000 ns"},
    {R"({"nic": {"qp_cache": {"entries": 5, "bytes": 5, "bytes_an_entry": 1}}})",
     {"/nic/qp_cache/bytes"},
     "together with entries 5"},
    {R"({"nic": {"request_cache": {"bytes": 5}, "translation_cache": {"bytes": 5, "bytes_an_entry": 6}}})",
     {"/nic/request_cache/bytes_an_entry", "/nic/translation_cache/bytes_an_entry"},
     "6 for a cache of 5 bytes"},
    {R"({"nic": {"kind": "soft"}})", {"/nic/kind"}, "one host only"},
    {R"({"network": {"one_host": true}})", {"/network/one_host"}, "with nic.kind \"soft\" only"},
    {R"({"nic": {"kind": "soft"}, "network": {"one_host": true, "client_hosts": 2}})",
     {"/network/client_hosts"},
     "allowed: 1"},
};

}  // namespace

TEST_CASE("a bad profile is refused at the right place", "[sim]") {
  for (const Bad& bad : table) {
    INFO(bad.profile);
    CHECK(refused_places(bad.profile) == bad.places);
    CHECK_THROWS_WITH(rkv::sim::parse_profile(bad.profile, "test"), Catch::Contains(bad.says));
  }
}

TEST_CASE("what just fits in a profile is accepted", "[sim]") {
  for (const char* const profile : {
           R"({"hosts": {"cpu": {"smt_ways": 8, "smt_throughput": 1}}})",
           R"({"hosts": {"cpu": {"cores_per_socket": 4, "smt_ways": 2}, "scheduler": {"interrupt_cpu": 7}}})",
           R"({"hosts": {"scheduler": {"interrupt_cpu": -1, "balance_interval_ns": 4000000}}})",
           R"({"hosts": {"scheduler": {"balance_interval_ns": 0}, "rc": {"empty_poll_ns": 0.001}}})",
           R"({"hosts": {"memory": {"walk": [{"working_set_bytes": 1, "entry_ns": 0}]}}})",
           R"({"network": {"loss": 0.999, "link_bandwidth_gbit_s": 0.001}})",
           R"({"nic": {"qp_cache": {"bytes": 5, "bytes_an_entry": 5}}})",
           R"({"nic": {"kind": "soft"}, "network": {"one_host": true}})",
       }) {
    INFO(profile);
    CHECK(refused_places(profile).empty());
  }
}
