// What is written is read back, and nothing is half-written.
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>

#include "calibration/curves/points.hpp"
#include "calibration/curves/predictions.hpp"
#include "calibration/curves/write_points.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

using rkv::calibration::Point;
using rkv::calibration::Values;
using rkv::calibration::write_points;

namespace {

const std::vector<Point> points{{.transport = "tcp",
                                 .completion = "busy",
                                 .clients = 1,
                                 .metric = "throughput_ops_s",
                                 .value = 1.0 / 3,
                                 .spread = {}},
                                {.transport = "ud",
                                 .completion = "event",
                                 .clients = 60,
                                 .metric = "latency_p99_us",
                                 .value = {},
                                 .spread = {}},
                                {.transport = "rc",
                                 .completion = "busy",
                                 .clients = 2,
                                 .metric = "latency_mean_us",
                                 .value = 39.59,
                                 .spread = 0.1,
                                 .scenario = "rc_random_reads load.window=8"}};

void check_equal(const Point& read, const Point& written) {
  CHECK(read.transport == written.transport);
  CHECK(read.completion == written.completion);
  CHECK(read.clients == written.clients);
  CHECK(read.metric == written.metric);
  CHECK(read.value == written.value);
  CHECK(read.spread == written.spread);
  CHECK(read.scenario == written.scenario);
}

}  // namespace

TEST_CASE("points are read back exactly") {
  const rkv::test::TemporaryFolder folder;
  write_points(folder / "p.csv", points);
  const auto read = rkv::calibration::read_points(folder / "p.csv", Values::optional).points;
  REQUIRE(read.size() == points.size());
  for (std::size_t index = 0; index < read.size(); ++index) {
    check_equal(read[index], points[index]);
  }
}

TEST_CASE("a scenario with lists and quotation marks is one cell") {
  const rkv::test::TemporaryFolder folder;
  std::vector<Point> with_list{points[2]};
  with_list[0].scenario = R"(rc_read_rounds client.cores=[0,1] name="a,b")";
  write_points(folder / "p.csv", with_list);
  const auto read = rkv::calibration::read_points(folder / "p.csv", Values::optional).points;
  REQUIRE(read.size() == 1);
  check_equal(read[0], with_list[0]);
}

TEST_CASE("predictions are a column more") {
  const rkv::test::TemporaryFolder folder;
  const std::vector<std::optional<double>> predicted{{}, 160.25, 40.0};
  write_points(folder / "p.csv", points, predicted);
  CHECK(rkv::test::contents(folder / "p.csv") ==
        "transport,completion,clients,metric,value,spread,scenario,predicted\n"
        "tcp,busy,1,throughput_ops_s,0.3333333333333333,,,\n"
        "ud,event,60,latency_p99_us,,,,160.25\n"
        "rc,busy,2,latency_mean_us,39.59,0.1,rc_random_reads load.window=8,40\n");
  const auto read = rkv::calibration::read_predictions(folder / "p.csv").points;
  REQUIRE(read.size() == 2);
  CHECK(read[0].value == 160.25);
  CHECK(read[1].clients == 2);
  CHECK_THROWS_AS(write_points(folder / "p.csv", points, std::vector<std::optional<double>>(2)),
                  std::invalid_argument);
}

TEST_CASE("a file is replaced as a whole, and nothing is left beside it") {
  const rkv::test::TemporaryFolder folder;
  write_points(folder / "p.csv", points);
  write_points(folder / "p.csv", {points[0]});
  CHECK(rkv::calibration::read_points(folder / "p.csv", Values::required).points.size() == 1);
  std::filesystem::create_directory(folder / "taken");
  CHECK_THROWS_AS(write_points(folder / "taken", points), rkv::Error);
  CHECK_THROWS_AS(write_points(folder / "nowhere" / "p.csv", points), rkv::Error);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}
