// Reports as points of curves.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/curves/report_points.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_file.hpp"

namespace {

using rkv::calibration::ReportPoints;

nlohmann::json committed() {
  return nlohmann::json::parse(std::ifstream(RKV_REPORT));
}

ReportPoints read(const nlohmann::json& report) {
  const rkv::TemporaryFile file("report.json", report.dump());
  return rkv::calibration::read_report_points(file.path());
}

}  // namespace

TEST_CASE("a report's points are its numbers") {
  const ReportPoints file = rkv::calibration::read_report_points(RKV_REPORT);
  const auto report = committed();
  CHECK(file.warnings.size() + file.points.size() / 7 == report["points"].size());
  CHECK(file.outstanding == 1);
  std::map<std::string, double> first;
  for (const auto& point : file.points) {
    CHECK(point.transport == "uc");
    CHECK(point.completion == "busy");
    if (point.clients == report["points"][0]["clients"]) {
      first[point.metric] = point.value.value();
    }
  }
  const auto& expected = report["points"][0];
  CHECK(first.size() == 7);
  CHECK(first.at("throughput_ops_s") == expected["throughput_ops_s"]);
  CHECK(first.at("latency_mean_us") == expected["latency_us"]["mean"]);
  CHECK(first.at("latency_p50_us") == expected["latency_us"]["p50"]);
  CHECK(first.at("latency_p95_us") == expected["latency_us"]["p95"]);
  CHECK(first.at("latency_p99_us") == expected["latency_us"]["p99"]);
  // 300 + 3 and 600 + 3 switches, 305 requests served, the warm-up's among them.
  CHECK(first.at("server_context_switches_op") == Approx(303 / 305.0));
  CHECK(first.at("client_context_switches_op") == Approx(603 / 305.0));
}

TEST_CASE("both ways: the sum of their throughputs is a metric, too") {
  auto report = committed();
  report["points"] = nlohmann::json::array({report["points"][0]});
  report["points"][0]["other_way"] = {{"operations", 10}, {"measured_s", 0.01}, {"throughput_ops_s", 1000.0}};
  const ReportPoints file = read(report);
  REQUIRE(file.points.size() == 8);
  CHECK(file.points[1].metric == "throughput_both_ways_ops_s");
  CHECK(file.points[1].value == report["points"][0]["throughput_ops_s"].get<double>() + 1000.0);
}

TEST_CASE("points that ended early or measured nothing are left out and named") {
  auto report = committed();
  report["points"] = {report["points"][0], report["points"][0], report["points"][0]};
  report["points"][0]["partial"] = true;
  report["points"][1]["latency_us"] = nullptr;
  const ReportPoints file = read(report);
  CHECK(file.points.size() == 7);
  REQUIRE(file.warnings.size() == 2);
  CHECK_THAT(file.warnings[0], Catch::Contains("/points/0") && Catch::Contains("ended early"));
  CHECK_THAT(file.warnings[1], Catch::Contains("/points/1") && Catch::Contains("measured nothing"));
}

TEST_CASE("operations under way at a time are the window, none in an open loop") {
  auto report = committed();
  report["scenario"]["load"] = {{"window", 8}, {"arrivals", {{"kind", "closed"}}}};
  CHECK(read(report).outstanding == 8);
  report["scenario"]["load"]["arrivals"]["kind"] = "poisson";
  CHECK(read(report).outstanding == 0);
}

TEST_CASE("what is no report is refused with its place") {
  const auto refused = [](const char* pointer, const nlohmann::json& value, const char* says) {
    auto report = committed();
    report[nlohmann::json::json_pointer(pointer)] = value;
    CHECK_THROWS_AS(read(report), rkv::InputError);
    CHECK_THROWS_WITH(read(report), Catch::Contains("report.json: ") && Catch::Contains(says));
  };
  refused("/schema_version", 2, "/schema_version: this program reads version 1");
  refused("/points", 3, "/points: not a list");
  refused("/points", nlohmann::json::array(), "/points: no complete point");
  refused("/scenario/transport", "roce", "/scenario/transport: this word");
  refused("/scenario/completion", "busy", "/scenario/completion/mode: missing");
  refused("/points/0/clients", 1.5, "/points/0/clients: not a whole number");
  refused("/points/0/throughput_ops_s", "fast", "/points/0/throughput_ops_s: not a number");
  refused("/points/0/throughput_ops_s", 1e12, "/points/0/throughput_ops_s: 1e+12 can't be");
  refused("/points/0/latency_us/p50", nullptr, "/points/0/latency_us/p50: not a number");
  refused("/points/1", committed()["points"][0], "/points/1/clients: a second point");
  refused("/points/0", 7, "/points/0/clients: missing");
}

TEST_CASE("what is no JSON, or not there, is named") {
  const rkv::TemporaryFile file("report.json", "{");
  CHECK_THROWS_WITH(rkv::calibration::read_report_points(file.path()), Catch::Contains("not valid JSON"));
  CHECK_THROWS_WITH(rkv::calibration::read_report_points("nowhere.json"),
                    Catch::Contains("there is no such file"));
  CHECK_THROWS_AS(rkv::calibration::read_report_points(file.path()), rkv::InputError);
}
