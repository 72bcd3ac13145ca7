#include "calibration/fit/parameter.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "tests/support/temporary_file.hpp"

using namespace rkv;
using namespace rkv::calibration;
using nlohmann::json;

namespace {

const json profile = json::parse(R"({
  "server": {"program": {"clock_read_ns": 25, "client_serial_ns": 0}, "memory": {"walk": [{"entry_ns": 4}]}},
  "client": {"program": {"clock_read_ns": 30, "client_serial_ns": 0}, "memory": {"walk": [{"entry_ns": 4}]}},
  "nic": {"uc": {"send_ns": 57}, "rc": {"send_ns": 57, "ack_ns": 3}, "processing_units": 2}
})");

}  // namespace

TEST_CASE("a path names a field of one host, of both, or of a list") {
  const auto parameters = named_parameters(
      {"nic.uc.send_ns", "hosts.memory.walk.0.entry_ns", "client.program.clock_read_ns"}, profile);
  CHECK(parameters[0].base == 57);
  CHECK(parameters[0].least == Approx(5.7));
  CHECK(parameters[0].most == Approx(570));
  CHECK(parameters[1].base == 4);
  CHECK(parameters[2].base == 30);
  const json changed = with_values(profile, parameters, {60.5, 5, 33});
  CHECK(changed["nic"]["uc"]["send_ns"] == 60.5);
  CHECK(changed["server"]["memory"]["walk"][0]["entry_ns"] == 5);
  CHECK(changed["client"]["memory"]["walk"][0]["entry_ns"] == 5);
  CHECK(changed["server"]["program"]["clock_read_ns"] == 25);
  CHECK(changed["client"]["program"]["clock_read_ns"] == 33);
}

TEST_CASE("counts stay whole numbers") {
  const auto parameters = named_parameters({"nic.processing_units"}, profile);
  const json changed = with_values(profile, parameters, {2.7});
  CHECK(changed["nic"]["processing_units"].is_number_integer());
  CHECK(changed["nic"]["processing_units"] == 3);
}

TEST_CASE("what can't be fitted is refused by name") {
  using Catch::Contains;
  CHECK_THROWS_WITH(named_parameters({"nic.uc.speed"}, profile), Contains("no field nic.uc.speed"));
  CHECK_THROWS_WITH(named_parameters({"hosts.program.client_serial_ns"}, profile), Contains("positive"));
  CHECK_THROWS_WITH(named_parameters({"hosts.program.clock_read_ns"}, profile), Contains("differs"));
  CHECK_THROWS_WITH(named_parameters({"nic.uc.send_ns", "nic.uc.send_ns"}, profile), Contains("twice"));
  CHECK_THROWS_AS(named_parameters({}, profile), InputError);
}

TEST_CASE("a file says what is believed of each") {
  const TemporaryFile file(
      "good.json", R"([{"path": "nic.uc.send_ns", "sigma": 0.2, "least": 30, "most": 90, "why": "x"}])");
  const auto parameters = read_parameters(file.path(), profile);
  REQUIRE(parameters.size() == 1);
  CHECK(parameters[0].sigma == 0.2);
  CHECK(parameters[0].least == 30);
  CHECK(parameters[0].most == 90);
  CHECK(parameters[0].why == "x");
  const TemporaryFile bounds("bounds.json", R"([{"path": "nic.uc.send_ns", "least": 60, "most": 90}])");
  CHECK_THROWS_WITH(read_parameters(bounds.path(), profile), Catch::Contains("between its bounds"));
  const TemporaryFile other("other.json", R"({"path": "nic.uc.send_ns"})");
  CHECK_THROWS_AS(read_parameters(other.path(), profile), InputError);
  CHECK_THROWS_AS(read_parameters("/nowhere.json", profile), InputError);
}

TEST_CASE("one parameter may stand for several fields") {
  using Catch::Contains;
  const TemporaryFile file("also.json", R"([{"path": "nic.uc.send_ns", "also": ["nic.rc.send_ns"]}])");
  const auto parameters = read_parameters(file.path(), profile);
  REQUIRE(parameters.size() == 1);
  const json changed = with_values(profile, parameters, {60});
  CHECK(changed["nic"]["uc"]["send_ns"] == 60);
  CHECK(changed["nic"]["rc"]["send_ns"] == 60);
  CHECK(changed["nic"]["rc"]["ack_ns"] == 3);
  CHECK(concerns(parameters[0], "uc"));
  CHECK(concerns(parameters[0], "rc"));
  CHECK_FALSE(concerns(parameters[0], "ud"));
  const TemporaryFile other("other.json", R"([{"path": "nic.uc.send_ns", "also": ["nic.rc.ack_ns"]}])");
  CHECK_THROWS_WITH(read_parameters(other.path(), profile), Contains("nic.rc.ack_ns"));
  const TemporaryFile twice("twice.json", R"([{"path": "nic.uc.send_ns", "also": ["nic.uc.send_ns"]}])");
  CHECK_THROWS_WITH(read_parameters(twice.path(), profile), Contains("named twice"));
}

TEST_CASE("a transport's fields concern its own curves only") {
  const auto of = [](const std::string& path) {
    Parameter parameter;
    parameter.path = path;
    return parameter;
  };
  CHECK(concerns(of("nic.uc.send_ns"), "uc"));
  CHECK_FALSE(concerns(of("nic.uc.send_ns"), "rc"));
  CHECK_FALSE(concerns(of("hosts.ud.poll_ns"), "uc"));
  CHECK(concerns(of("hosts.memory.copy_ns_per_byte"), "tcp"));
  CHECK(concerns(of("tcp.send_ns"), "tcp"));
  CHECK_FALSE(concerns(of("tcp.send_ns"), "uc"));
  CHECK_FALSE(concerns(of("nic.pcie_latency_ns"), "tcp"));
}
