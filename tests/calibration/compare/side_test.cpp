// Where the points of a side come from.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/compare/side.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

using rkv::calibration::measured_side;
using rkv::calibration::predicted_side;
using rkv::test::TemporaryFolder;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

nlohmann::json report(const std::string& transport) {
  auto document = nlohmann::json::parse(std::ifstream(RKV_REPORT));
  document["scenario"]["transport"] = transport;
  document["points"] = nlohmann::json::array({document["points"][0]});
  return document;
}

const std::string both =
    "transport,completion,clients,metric,value,predicted\n"
    "tcp,busy,1,throughput_ops_s,10,11\n"
    "tcp,busy,2,throughput_ops_s,,21\n";

}  // namespace

TEST_CASE("a report is named by itself or by its directory") {
  const auto by_file = measured_side(RKV_REPORT);
  const auto by_directory = measured_side(std::filesystem::path(RKV_REPORT).parent_path());
  CHECK_FALSE(by_file.points.empty());
  CHECK(by_file.points.size() == by_directory.points.size());
  CHECK(by_file.warnings.size() == 1);  // a point that ended early
}

TEST_CASE("the runs in a directory are one side") {
  const TemporaryFolder folder;
  write(folder / "a/report.json", report("uc").dump());
  write(folder / "b/report.json", report("rc").dump());
  write(folder / "b/summary.csv", "something else");
  const auto side = predicted_side(folder.path());
  CHECK(side.points.size() == 14);
  CHECK(side.outstanding == 1);

  write(folder / "c/report.json", report("rc").dump());
  CHECK_THROWS_WITH(
      predicted_side(folder.path()),
      Catch::Contains("c/report.json: /points: rc busy at clients = 1") && Catch::Contains("b/report.json"));
  auto other = report("ud");
  other["scenario"]["load"]["window"] = 2;
  write(folder / "c/report.json", other.dump());
  CHECK_THROWS_WITH(predicted_side(folder.path()), Catch::Contains("c/report.json: /scenario/load"));
  CHECK_THROWS_AS(predicted_side(folder.path()), rkv::InputError);
}

TEST_CASE("a directory without reports is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(measured_side(folder.path()), Catch::Contains("no report.json"));
  CHECK_THROWS_AS(measured_side(folder.path()), rkv::InputError);
  CHECK_THROWS_AS(measured_side(folder / "nowhere"), rkv::InputError);
}

TEST_CASE("of a CSV file with predictions each side has its column") {
  const TemporaryFolder folder;
  write(folder / "both.csv", both);
  const auto measured = measured_side(folder / "both.csv");
  REQUIRE(measured.points.size() == 2);
  CHECK(measured.points[0].value == 10.0);
  CHECK_FALSE(measured.points[1].value);
  const auto predicted = predicted_side(folder / "both.csv");
  REQUIRE(predicted.points.size() == 2);
  CHECK(predicted.points[0].value == 11.0);
  CHECK(predicted.points[1].value == 21.0);
}

TEST_CASE("a CSV file of points without values has nothing to compare") {
  const TemporaryFolder folder;
  write(folder / "wanted.csv", "transport,completion,clients,metric,value\ntcp,busy,1,throughput_ops_s,\n");
  CHECK_THROWS_WITH(measured_side(folder / "wanted.csv"), Catch::Contains("wanted.csv:2: value is empty"));
  CHECK_THROWS_WITH(predicted_side(folder / "wanted.csv"), Catch::Contains("wanted.csv:2: value is empty"));
}
