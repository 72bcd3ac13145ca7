// The table, letter by letter, and errors.json.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "calibration/compare/comparison.hpp"
#include "calibration/compare/files.hpp"
#include "calibration/compare/table.hpp"
#include "tests/calibration/compare/sides.hpp"

using namespace rkv::calibration;
using rkv::test::add;

namespace {

// The law's numbers were found by another program too (scipy's least_squares): lambda 1007.068, sigma 0.0502,
// kappa 0. Nearly linear scaling up to 4 clients, which the law takes to go on; then a fall.
Comparison sample() {
  Side measured;
  measured.source = "curves.csv";
  add(measured, "uc", "throughput_ops_s", {{1, 1000}, {2, 2000}, {3, 2600}, {4, 3600}, {8, 2000}});
  add(measured, "tcp", "latency_mean_us", {{1, 100}});
  add(measured, "ud", "throughput_ops_s", {{1, 20000}});
  add(measured, "ud", "latency_mean_us", {{1, 70}});
  Side predicted;
  predicted.source = "predicted.csv";
  add(predicted, "uc", "throughput_ops_s", {{1, 1100}, {2, 2000}, {3, 2600}, {4, 2700}, {8, 3600}});
  add(predicted, "rc", "latency_mean_us", {{1, 100}});
  add(predicted, "ud", "throughput_ops_s", {{1, 20000}});
  add(predicted, "ud", "latency_mean_us", {{1, 50}});
  return compare(measured, predicted, 4);
}

}  // namespace

TEST_CASE("the table of a comparison") {
  CHECK(comparison_table(sample()) == R"(Measured:  curves.csv
Predicted: predicted.csv
USL:       the Universal Scalability Law, fitted to each curve's measured points with up to 4 clients

throughput_ops_s                      mean absolute error                           worst point
curve             clients    points   predicted       USL           predicted               USL
uc busy           all             5      23.0 %    42.2 %        +80.0 % at 8     +198.0 % at 8
                  up to 4         4       8.8 %     3.3 %        -25.0 % at 4       +5.6 % at 3
                  above 4         1      80.0 %   198.0 %        +80.0 % at 8     +198.0 % at 8
all curves        all             5      23.0 %    42.2 %
                  up to 4         4       8.8 %     3.3 %
                  above 4         1      80.0 %   198.0 %

Peaks and plateaus of throughput: height, and the clients at the peak or first at 90 % of the plateau;
errors of the height, clients (and by how many compared points too late)
curve             clients    shape                    measured               predicted                     USL
uc busy           all        peak             3600 ops/s, at 4        0.0 %, at 8 (+1)      +65.6 %, at 8 (+1)
                  up to 4    plateau          3100 ops/s, at 4      -14.5 %, at 3 (-1)       +0.7 %, at 4 (+0)

Measured, but not predicted:
  tcp busy latency_mean_us

Predicted, but not measured:
  rc busy latency_mean_us

Left out, measured throughput and mean latency, since no closed loop has both:
  ud busy at clients = 1: 70.00 us, but clients / throughput is 50.00 us
)");
}

TEST_CASE("errors.json has the table's numbers") {
  const auto json = comparison_json(sample());
  CHECK(json["measured"] == "curves.csv");
  CHECK(json["fitted_clients"] == 4);
  CHECK(json["outstanding"] == 1);
  const auto& curve = json["curves"][0];
  CHECK(curve["transport"] == "uc");
  CHECK(curve["completion"] == "busy");
  CHECK(curve["metric"] == "throughput_ops_s");
  CHECK(curve["usl"]["lambda_ops_s"].get<double>() == Approx(1007.068));
  CHECK(curve["errors"]["all"]["points"] == 5);
  CHECK(curve["errors"]["all"]["predicted"]["mean_absolute_error_percent"].get<double>() == Approx(23));
  CHECK(curve["errors"]["all"]["predicted"]["worst"]["clients"] == 8);
  CHECK(curve["errors"]["all"]["predicted"]["worst"]["error_percent"].get<double>() == Approx(80));
  CHECK(curve["errors"]["all"]["predicted"]["shape"]["kind"] == "peak");
  CHECK(curve["errors"]["all"]["predicted"]["shape"]["grid_steps"] == 1);
  CHECK(curve["errors"]["all"]["usl"]["mean_absolute_error_percent"].get<double>() == Approx(42.24283));
  CHECK(curve["errors"]["fitted"]["points"] == 4);
  CHECK(curve["errors"]["beyond"]["predicted"]["worst"]["measured"] == 2000);
  CHECK(json["only_measured"][0]["transport"] == "tcp");
  CHECK(json["only_predicted"][0]["transport"] == "rc");
  CHECK(json["left_out"][0]["least_us"].get<double>() == Approx(50));
  CHECK(json["metrics"][0]["range"] == "all");
}
