// Points of curves as persons write them: what is read, and every kind of refusal with its line.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "calibration/curves/consistency.hpp"
#include "calibration/curves/curve.hpp"
#include "calibration/curves/points.hpp"
#include "calibration/curves/predictions.hpp"
#include "core/error.hpp"
#include "tests/support/temporary_file.hpp"

namespace {

using rkv::calibration::PointFile;
using rkv::calibration::Values;

const std::string header = "transport,completion,clients,metric,value\n";

PointFile read(const std::string& text, Values values = Values::required) {
  const rkv::TemporaryFile file("points.csv", text);
  return rkv::calibration::read_points(file.path(), values);
}

}  // namespace

TEST_CASE("a file of curves is read as it stands") {
  const PointFile file = rkv::calibration::read_points(RKV_FIXTURES "/curves.csv", Values::required);
  CHECK(file.source == RKV_FIXTURES "/curves.csv");
  CHECK(file.warnings.empty());
  REQUIRE(file.points.size() == 10);
  CHECK(file.points[4].transport == "rc");
  CHECK(file.points[4].completion == "busy");
  CHECK(file.points[4].clients == 2);
  CHECK(file.points[4].metric == "throughput_ops_s");
  CHECK(file.points[4].value == 90000.5);
  CHECK_FALSE(file.points[4].spread);
  CHECK(file.points[4].line == 6);
  const auto curves = rkv::calibration::curves_of(file.points);
  REQUIRE(curves.size() == 4);
  CHECK(curves.at({"tcp", "event", "latency_mean_us"}) == rkv::calibration::Curve{{1, 70}, {2, 64}});
}

TEST_CASE("columns in any order, others ignored, words in any case") {
  const PointFile file = read(
      "value,host,metric,clients,Spread,spread,completion,transport\n"
      "5.5,\"a,b\",latency_mean_us,4.0,x,0.25,EVENT_batch,Ud\n");
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].transport == "ud");
  CHECK(file.points[0].completion == "event_batch");
  CHECK(file.points[0].clients == 4);
  CHECK(file.points[0].value == 5.5);
  CHECK(file.points[0].spread == 0.25);
}

TEST_CASE("a point may name its scenario, which is part of what it is") {
  const PointFile file = read(
      "transport,completion,clients,metric,value,scenario\n"
      "rc,busy,2,throughput_ops_s,5,reads load.window=1\n"
      "rc,busy,2,throughput_ops_s,9,reads load.window=2\n"
      "rc,busy,2,latency_mean_us,9e6,reads load.window=2\n"
      "rc,busy,2,throughput_ops_s,7,reads load.window=1\n");
  REQUIRE(file.points.size() == 3);
  CHECK(file.points[0].scenario == "reads load.window=1");
  CHECK(file.points[0].value == 6.0);  // replicates
  CHECK(file.points[1].scenario == "reads load.window=2");
  const auto curves = rkv::calibration::curves_of(file.points);
  REQUIRE(curves.size() == 3);
  CHECK(curves.at({"rc", "busy", "throughput_ops_s", "reads load.window=2"}) ==
        rkv::calibration::Curve{{2, 9}});
  CHECK(rkv::calibration::curve_name(curves.begin()->first) == "rc busy reads load.window=2");
  // What such a client has outstanding is its scenario's affair.
  CHECK(rkv::calibration::closed_loop_violations(file.points).empty());
}

TEST_CASE("every metric has its unit") {
  for (const auto& metric : rkv::calibration::metrics()) {
    CAPTURE(metric);
    CHECK(read(header + "tcp,busy,1," + metric + ",10\n").points.size() == 1);
    CHECK_THROWS_AS(read(header + "tcp,busy,1," + metric + ",1e12\n"), rkv::InputError);
    CHECK_THROWS_AS(read(header + "tcp,busy,1," + metric + ",-1\n"), rkv::InputError);
  }
  CHECK(read(header + "tcp,busy,1,server_context_switches_op,0\n").points[0].value == 0.0);
}

TEST_CASE("mistakes are told with their line") {
  struct Bad {
    std::string text;
    const char* says;
  };
  const auto bad = GENERATE(
      Bad{"", "points.csv:1: the file is empty; its first line names the columns"},
      Bad{header, "points.csv:1: no points follow"},
      Bad{"transport,clients,metric,value\ntcp,1,throughput_ops_s,5\n",
          "points.csv:1: there is no column \"completion\""},
      Bad{"transport,completion,clients,metric,value,value\nx,x,x,x,x,x\n",
          "points.csv:1: two columns \"value\""},
      Bad{header + "roce,busy,1,throughput_ops_s,5\n",
          "points.csv:2: transport is \"roce\"; allowed: tcp, rc, uc, ud"},
      Bad{header + "tcp,polling,1,throughput_ops_s,5\n",
          "points.csv:2: completion is \"polling\"; allowed: busy, event"},
      Bad{header + "tcp,busy,1,throughput,5\n",
          "points.csv:2: metric is \"throughput\"; allowed: throughput_ops_s"},
      Bad{header + "tcp,busy,0,throughput_ops_s,5\n",
          "points.csv:2: clients is \"0\"; allowed: a whole number from 1 to 65536"},
      Bad{header + "tcp,busy,2.5,throughput_ops_s,5\n", "clients is \"2.5\""},
      Bad{header + "tcp,busy,65537,throughput_ops_s,5\n", "clients is \"65537\""},
      Bad{header + "tcp,busy,one,throughput_ops_s,5\n", "clients is \"one\""},
      Bad{header + "tcp,busy,,throughput_ops_s,5\n", "clients is \"\""},
      Bad{header + "\ntcp,busy,1,throughput_ops_s,\n", "points.csv:3: value is empty"},
      Bad{header + "tcp,busy,1,throughput_ops_s,5k\n", "points.csv:2: value is \"5k\", no number"},
      Bad{header + "tcp,busy,1,throughput_ops_s,nan\n", "value is \"nan\", no number"},
      Bad{header + "tcp,busy,1,throughput_ops_s,inf\n", "value is \"inf\", no number"},
      Bad{header + "tcp,busy,1,throughput_ops_s,2e9\n",
          "points.csv:2: value: 2e+09 can't be throughput_ops_s"},
      Bad{header + "tcp,busy,1,throughput_ops_s,0\n", "0 can't be throughput_ops_s"},
      Bad{header + "tcp,busy,1,latency_mean_us,0.05\n", "0.05 can't be latency_mean_us (microseconds)"},
      Bad{header + "tcp,busy,1,latency_mean_us,2e7\n", "2e+07 can't be latency_mean_us"},
      Bad{header + "tcp,busy,1,throughput_ops_s,5\nTCP,Busy,1,throughput_ops_s,5.0\n",
          "points.csv:3: the same as line 2"},
      Bad{"transport,completion,clients,metric,value,spread\ntcp,busy,1,throughput_ops_s,5,-1\n",
          "points.csv:2: spread: -1 can't be"},
      Bad{header + "tcp,busy,1,latency_p50_us,5\ntcp,busy,1,latency_p95_us,4\n",
          "points.csv:3: latency_p95_us is 4 at clients = 1, but latency_p50_us on line 2 is 5"},
      Bad{header + "tcp,busy,1,latency_p99_us,5\ntcp,busy,1,latency_p50_us,6\n",
          "points.csv:2: latency_p99_us is 5"},
      Bad{header + "tcp,busy,1,latency_p50_us,50\ntcp,busy,1,latency_mean_us,24\n",
          "points.csv:3: latency_mean_us is 24"});
  CAPTURE(bad.text);
  CHECK_THROWS_WITH(read(bad.text), Catch::Contains(bad.says));
  CHECK_THROWS_AS(read(bad.text), rkv::InputError);
}

TEST_CASE("all mistakes are told at once, up to a number") {
  CHECK_THROWS_WITH(read(header + "x,busy,1,throughput_ops_s,5\ntcp,busy,0,throughput_ops_s,5\n"),
                    Catch::Contains("points.csv:2:") && Catch::Contains("points.csv:3:"));
  std::string text = header;
  for (int line = 0; line < 25; ++line) {
    text += "x,busy,1,throughput_ops_s,5\n";
  }
  CHECK_THROWS_WITH(read(text), Catch::Contains("points.csv:21:") && !Catch::Contains("points.csv:22:") &&
                                    Catch::EndsWith("points.csv: and 5 more"));
}

TEST_CASE("replicates are averaged, with the spread of their values") {
  const PointFile file = read(header +
                              "tcp,busy,1,throughput_ops_s,10\n"
                              "tcp,busy,2,throughput_ops_s,30\n"
                              "TCP,busy,1,throughput_ops_s,14\n"
                              "tcp,busy,1,throughput_ops_s,18\n");
  REQUIRE(file.points.size() == 2);
  CHECK(file.points[0].value == Approx(14));
  CHECK(file.points[0].spread == Approx(4));  // ((-4)^2 + 0 + 4^2) / 2 = 16
  CHECK(file.points[0].line == 2);
  CHECK(file.points[1].value == 30.0);
  CHECK_FALSE(file.points[1].spread);
  REQUIRE(file.warnings.size() == 1);
  CHECK_THAT(file.warnings[0],
             Catch::Contains("tcp busy throughput_ops_s at clients = 1, 3 times from line 2"));
}

TEST_CASE("spreads that are given are kept, and are the mean of their squares over replicates") {
  const PointFile file = read(
      "transport,completion,clients,metric,value,spread\n"
      "tcp,busy,1,throughput_ops_s,10,3\n"
      "tcp,busy,1,throughput_ops_s,20,4\n");
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].spread == Approx(std::sqrt(12.5)));
}

TEST_CASE("equal values of different runs are replicates") {
  const PointFile file = read(
      "transport,completion,clients,metric,value,run\n"
      "tcp,busy,1,throughput_ops_s,10,1\n"
      "tcp,busy,1,throughput_ops_s,10,2\n");
  REQUIRE(file.points.size() == 1);
  CHECK(file.points[0].value == 10.0);
  CHECK(file.points[0].spread == 0.0);
}

TEST_CASE("a file may only name points") {
  const std::string text = header + "tcp,busy,1,throughput_ops_s,\ntcp,busy,2,throughput_ops_s,5\n";
  const PointFile file = read(text, Values::optional);
  REQUIRE(file.points.size() == 2);
  CHECK_FALSE(file.points[0].value);
  CHECK(file.points[1].value == 5.0);
  CHECK_THROWS_AS(read(text, Values::required), rkv::InputError);
  CHECK_THROWS_WITH(
      read(header + "tcp,busy,1,throughput_ops_s,\ntcp,busy,1,throughput_ops_s,\n", Values::optional),
      Catch::Contains(":3: the same as line 2"));
}

TEST_CASE("predictions stand in a column of their own") {
  const rkv::TemporaryFile file("predicted.csv",
                                "transport,completion,clients,metric,value,spread,predicted\n"
                                "tcp,busy,1,throughput_ops_s,10,1,11\n"
                                "tcp,busy,2,throughput_ops_s,,,21\n"
                                "tcp,busy,3,throughput_ops_s,30,1,\n"
                                "tcp,busy,4,throughput_ops_s,40,1,44\n"
                                "tcp,busy,4,throughput_ops_s,42,1,44\n");
  CHECK(rkv::calibration::has_predictions(file.path()));
  const auto predicted = rkv::calibration::read_predictions(file.path()).points;
  REQUIRE(predicted.size() == 3);
  CHECK(predicted[0].value == 11.0);
  CHECK_FALSE(predicted[0].spread);
  CHECK(predicted[1].clients == 2);
  CHECK(predicted[1].value == 21.0);
  CHECK(predicted[2].value == 44.0);
  CHECK_FALSE(rkv::calibration::has_predictions(RKV_FIXTURES "/curves.csv"));
}
