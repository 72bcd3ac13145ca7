#include "core/report/run_directory.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/measure/hgrm.hpp"
#include "core/report/version.hpp"
#include "tests/report/sample.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace rkv;
namespace fs = std::filesystem;

namespace {

nlohmann::json read_report(const fs::path& folder) {
  return nlohmann::json::parse(test::contents(folder / "report.json"));
}

constexpr std::chrono::sys_seconds noon{std::chrono::seconds(1'772'366'400)};  // 2026-03-01T12:00:00Z

}  // namespace

TEST_CASE("a run's directory holds the report, the summary and a distribution a point") {
  const test::TemporaryFolder folder;
  const auto report = test::sample_report();
  auto run = RunDirectory::at(folder / "new" / "run");
  run.write(report);
  CHECK(read_report(run.path()) == nlohmann::json::parse(report_json(report).dump()));
  CHECK(test::contents(run.path() / "summary.csv") == summary_csv(report.points));
  CHECK(test::contents(run.path() / "latency_4.hgrm") == hgrm(report.points[2].latency));
  const auto files = std::distance(fs::directory_iterator(run.path()), fs::directory_iterator());
  CHECK(files == 5);  // and no temporary file is left
}

TEST_CASE("what is true of one run only lies beside the report and is replaced") {
  const test::TemporaryFolder folder;
  auto run = this_run({"rkv-sim", "bad \xff byte"});
  run.host_name = "here";
  run.start_time = noon;
  run.started -= std::chrono::seconds(90);
  auto directory = RunDirectory::at(folder / "run");
  directory.write(test::sample_report());
  directory.write_run_info(run);
  run.started -= std::chrono::seconds(10);
  directory.write_run_info(run);
  const auto info = nlohmann::json::parse(test::contents(directory.path() / "run_info.json"));
  CHECK(info["host_name"] == "here");
  CHECK(info["start_time"] == "2026-03-01T12:00:00Z");
  CHECK(info["wall_time_s"].get<double>() >= 100);
  CHECK(info["program_version"] == program_version());
  CHECK(info["command_line"][0] == "rkv-sim");
  CHECK(info["machine"]["threads"] > 0);
  CHECK(info.size() == 6);
}

TEST_CASE("this run is of this machine") {
  const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto run = this_run({"rkv-real"});
  CHECK(run.start_time >= before);
  CHECK(run.start_time <= std::chrono::system_clock::now());
  CHECK_FALSE(run.host_name.empty());
  CHECK(run.command_line == std::vector<std::string>{"rkv-real"});
}

TEST_CASE("after every point the report is whole") {
  const test::TemporaryFolder folder;
  const auto all = test::sample_report();
  auto report = all;
  report.points.clear();
  auto run = RunDirectory::at(folder / "run");
  run.write(report);
  CHECK(read_report(run.path())["points"].empty());
  for (std::size_t count = 1; count <= all.points.size(); ++count) {
    report.points.push_back(all.points[count - 1]);
    // A reader that has the old report open goes on reading the old one: it is replaced, not changed.
    std::ifstream old_report(run.path() / "report.json");
    run.write(report);
    CHECK(nlohmann::json::parse(old_report)["points"].size() == count - 1);
    CHECK(read_report(run.path())["points"].size() == count);
  }
}

TEST_CASE("an empty directory may be used, one with something in it may not") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "empty");
  CHECK_NOTHROW(RunDirectory::at(folder / "empty").write(test::sample_report()));
  const auto before = test::contents(folder / "empty" / "report.json");
  CHECK_THROWS_AS(RunDirectory::at(folder / "empty"), InputError);
  CHECK(test::contents(folder / "empty" / "report.json") == before);

  std::ofstream(folder / "file") << "mine";
  CHECK_THROWS_AS(RunDirectory::at(folder / "file"), InputError);
  CHECK_THROWS_AS(RunDirectory::at(""), InputError);
  CHECK(test::contents(folder / "file") == "mine");
}

TEST_CASE("a directory is taken by one run only") {
  const test::TemporaryFolder folder;
  const auto first = RunDirectory::at(folder / "run");
  CHECK_THROWS_AS(RunDirectory::at(folder / "run"), InputError);
}

TEST_CASE("a run that wrote nothing leaves nothing") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "found");
  { const auto run = RunDirectory::at(folder / "made"); }
  { const auto run = RunDirectory::at(folder / "found"); }
  CHECK_FALSE(fs::exists(folder / "made"));
  CHECK(fs::is_empty(folder / "found"));
}

TEST_CASE("runs of the same second get directories of their own") {
  const test::TemporaryFolder folder;
  const auto first = RunDirectory::fresh(folder / "results", "uc_sample", noon);
  const auto second = RunDirectory::fresh(folder / "results", "uc_sample", noon);
  auto third = RunDirectory::fresh(folder / "results", "uc_sample", noon);
  CHECK(first.path().filename() == "uc_sample-20260301T120000Z");
  CHECK(second.path().filename() == "uc_sample-20260301T120000Z-2");
  CHECK(third.path().filename() == "uc_sample-20260301T120000Z-3");
  third.write(test::sample_report());
  CHECK(fs::exists(third.path() / "report.json"));
  CHECK(first.trace_file(8, "csv") == first.path() / "trace_8.csv");
}

TEST_CASE("a distribution that is there already is not overwritten") {
  const test::TemporaryFolder folder;
  auto run = RunDirectory::at(folder / "run");
  std::ofstream(run.path() / "latency_1.hgrm") << "mine";
  CHECK_THROWS_AS(run.write(test::sample_report()), Error);
  CHECK(test::contents(run.path() / "latency_1.hgrm") == "mine");
}

TEST_CASE("a run of one scenario goes where --out says, each of a sweep to a directory in it") {
  CHECK(directory_of("out", "uc_sample", 1) == fs::path("out"));
  CHECK(directory_of("out", "uc_sample-window=2", 2) == fs::path("out") / "uc_sample-window=2");
  CHECK(directory_of("/a/out/", "b", 3) == fs::path("/a/out/b"));
}
