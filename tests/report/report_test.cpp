#include "core/report/report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/document/schema_validator.hpp"
#include "tests/report/sample.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace rkv;

namespace {

bool valid(const nlohmann::json& document) {
  const auto schema = nlohmann::json::parse(test::contents(RKV_SOURCE_DIR "/core/report/report.schema.json"));
  const auto refusals = SchemaValidator(schema).refusals(document);
  for (const Refusal& refusal : refusals) UNSCOPED_INFO(refusal.text << " at " << refusal.pointer);
  return refusals.empty();
}

nlohmann::json as_read(const Report& report) {
  return nlohmann::json::parse(report_json(report).dump());
}

}  // namespace

TEST_CASE("a report is what its schema says") {
  CHECK(valid(as_read(test::sample_report())));

  SECTION("without points") {
    auto report = test::sample_report();
    report.points.clear();
    CHECK(valid(as_read(report)));
  }
  SECTION("with a point at which nothing was measured") {
    auto report = test::sample_report();
    report.points = {PointResult()};
    const auto json = as_read(report);
    CHECK(valid(json));
    CHECK(json["points"][0]["latency_us"].is_null());
  }
  SECTION("with another way") {
    auto report = test::sample_report();
    report.points[0].other_way = {.operations = 150, .measured = std::chrono::milliseconds(3)};
    const auto json = as_read(report);
    CHECK(valid(json));
    const nlohmann::json told{{"operations", 150}, {"measured_s", 0.003}, {"throughput_ops_s", 50'000.0}};
    CHECK(json["points"][0]["other_way"] == told);
    CHECK_FALSE(json["points"][1].contains("other_way"));
  }
  SECTION("of a simulation, with a trace") {
    auto report = test::sample_report();
    report.backend = Report::Backend::sim;
    report.start_time.reset();
    report.command_line.clear();
    report.machine = nullptr;
    report.device = nullptr;
    report.profile = {{"hosts", {{{"cores", 4}}}}};
    report.points[0].trace_file = "trace_1.csv";
    report.points[0].trace_overflow = 5;
    report.points[0].time_spent_ns = {{"store", 120.5}};
    const auto json = as_read(report);
    CHECK(valid(json));
    for (const char* absent : {"start_time", "command_line", "machine", "device"}) {
      CHECK_FALSE(json.contains(absent));
    }
    CHECK(json["profile"] == report.profile);
    CHECK(json["points"][0]["trace_overflow"] == 5);
    CHECK(json["points"][0]["time_spent_ns"] == nlohmann::json{{"store", 120.5}});
    CHECK_FALSE(json["points"][1].contains("time_spent_ns"));
  }
}

TEST_CASE("the schema refuses what is no report") {
  auto json = as_read(test::sample_report());
  SECTION("another version") {
    json["schema_version"] = 2;
  }
  SECTION("a missing member") {
    json["points"][0].erase("throughput_ops_s");
  }
  SECTION("an unknown member") {
    json["points"][0]["speed"] = 1;
  }
  SECTION("a real run that does not tell on what or how") {
    json.erase(GENERATE(as<std::string>(), "start_time", "command_line", "machine", "device"));
  }
  SECTION("a real run on simulated machines") {
    json["profile"] = nlohmann::json::object();
  }
  SECTION("a time that is none") {
    json["points"][0]["time_spent_ns"] = {{"store", -1}};
  }
  SECTION("a file elsewhere") {
    json["points"][0]["histogram_file"] = "../latency_1.hgrm";
  }
  CHECK_FALSE(valid(json));
}

TEST_CASE("the report's numbers are those that were measured") {
  const auto report = test::sample_report();
  const auto json = as_read(report);
  CHECK(json["schema_version"] == 1);
  CHECK(json["backend"] == "real");
  CHECK(json["start_time"] == "2026-03-01T12:00:00Z");
  CHECK(json["scenario"] == report.scenario);
  const auto& point = json["points"][1];
  const auto& result = report.points[1];
  CHECK(point["clients"] == 2);
  CHECK(point["operations"] == 600);
  // 300 operations of 7 us each, the second client 100 ms later.
  CHECK(point["measured_s"].get<double>() == Approx(0.1021));
  CHECK(point["throughput_ops_s"].get<double>() == Approx(600 / 0.1021));
  CHECK(point["latency_us"]["mean"].get<double>() == Approx(result.latency.mean_ns() / 1000));
  CHECK(point["latency_us"]["p999"].get<double>() ==
        Approx(static_cast<double>(result.latency.quantile_ns(0.999)) / 1000));
  CHECK(point["operations_by_result"]["GET"]["KEY_ERROR"] ==
        result.operations.of(Method::get, ResponseCode::key_error));
  CHECK(point["server"]["voluntary_context_switches"] == 600);
  CHECK(point["server"]["utilisation"].get<double>() == Approx(0.25));
  CHECK(point["client"]["voluntary_context_switches"] == 1200);
  CHECK(point["per_client"].size() == 2);
  CHECK(json["points"][2]["partial_reason"] == "interrupted by SIGINT");
}

TEST_CASE("two points with as many clients have files of their own") {
  std::vector<PointResult> points(4);
  points[0].clients = 8;
  points[1].clients = 1;
  points[2].clients = 8;
  points[3].clients = 8;
  CHECK(histogram_file(points, 0) == "latency_8.hgrm");
  CHECK(histogram_file(points, 1) == "latency_1.hgrm");
  CHECK(histogram_file(points, 2) == "latency_8-2.hgrm");
  CHECK(histogram_file(points, 3) == "latency_8-3.hgrm");
}

TEST_CASE("the summary has a line a point and as many cells as its header") {
  auto points = test::sample_report().points;
  points.push_back(PointResult());
  std::istringstream lines(summary_csv(points));
  std::string header, line;
  std::getline(lines, header);
  int count = 0;
  while (std::getline(lines, line)) {
    CHECK(std::count(line.begin(), line.end(), ',') == std::count(header.begin(), header.end(), ','));
    if (count == 1) {
      CHECK(line.rfind("2,0,600,0.102100,5876.592,", 0) == 0);
    }
    ++count;
  }
  CHECK(count == 4);
}
