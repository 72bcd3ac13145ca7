#include "core/measure/hgrm.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

using rkv::Duration;
using rkv::hgrm;
using rkv::Histogram;

// The lines that HdrHistogram's outputPercentileDistribution(out, 5, 1000.0) has for these values, with three
// decimals: a level is printed at the first value that reaches it, and 100 % once more at the end.
TEST_CASE("a known histogram in HdrHistogram's percentile format") {
  Histogram histogram;
  for (const int value_ns : {100, 200, 200, 250}) {
    histogram.record(Duration(value_ns));
  }
  CHECK(hgrm(histogram, 5) ==
        "       Value     Percentile TotalCount 1/(1-Percentile)\n"
        "\n"
        "       0.100 0.000000000000          1           1.00\n"
        "       0.100 0.100000000000          1           1.11\n"
        "       0.100 0.200000000000          1           1.25\n"
        "       0.200 0.300000000000          3           1.43\n"
        "       0.200 0.400000000000          3           1.67\n"
        "       0.200 0.500000000000          3           2.00\n"
        "       0.200 0.550000000000          3           2.22\n"
        "       0.200 0.600000000000          3           2.50\n"
        "       0.200 0.650000000000          3           2.86\n"
        "       0.200 0.700000000000          3           3.33\n"
        "       0.200 0.750000000000          3           4.00\n"
        "       0.250 0.775000000000          4           4.44\n"
        "       0.250 1.000000000000          4\n"
        "#[Mean    =        0.188, StdDeviation   =        0.054]\n"
        "#[Max     =        0.250, Total count    =            4]\n"
        "#[Buckets =           35, SubBuckets     =          256]\n");
}

TEST_CASE("an empty histogram has no percentile lines") {
  CHECK(hgrm(Histogram()) ==
        "       Value     Percentile TotalCount 1/(1-Percentile)\n"
        "\n"
        "#[Mean    =        0.000, StdDeviation   =        0.000]\n"
        "#[Max     =        0.000, Total count    =            0]\n"
        "#[Buckets =           35, SubBuckets     =          256]\n");
}

TEST_CASE("percentile lines ascend and end at all values") {
  Histogram histogram;
  for (int i = 1; i <= 100'000; ++i) {
    histogram.record(Duration(i * 17));
  }
  std::istringstream lines(hgrm(histogram));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  double last_value = 0, last_percentile = -1;
  std::uint64_t total = 0;
  int count = 0;
  while (std::getline(lines, line) && line.front() != '#') {
    double value = 0, percentile = 0;
    std::istringstream(line) >> value >> percentile >> total;
    REQUIRE(value >= last_value);
    REQUIRE(percentile > last_percentile);
    REQUIRE(static_cast<double>(total) >= percentile * 100'000 - 1e-3);
    last_value = value;
    last_percentile = percentile;
    ++count;
  }
  CHECK(total == 100'000);
  CHECK(last_percentile == 1.0);
  CHECK(last_value == 1700.0);
  CHECK(count > 300);  // 50 a halving, until the last bucket, which has 0.5 % of the values
}
