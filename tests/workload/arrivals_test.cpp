#include "core/workload/arrivals.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "tests/workload/statistics.hpp"
#include "tests/workload/test_scenario.hpp"

namespace {

rkv::Scenario open_loop(const std::string& kind, double rate) {
  return rkv::parse_scenario(R"({"load": {"duration_s": 1, "arrivals": {"kind": ")" + kind +
                                 R"(", "rate_ops_s": )" + std::to_string(rate) + "}}}",
                             "test");
}

}  // namespace

TEST_CASE("constant arrivals of all clients are evenly apart") {
  const rkv::Scenario scenario = open_loop("constant", 1'000'000);  // one a microsecond
  std::multiset<rkv::Duration> all;
  for (std::uint32_t client = 0; client < 3; ++client) {
    rkv::ArrivalProcess arrivals(scenario, client, 3);
    for (int i = 0; i < 100; ++i) {
      all.insert(arrivals.next());
    }
  }
  rkv::Duration expected{0};
  for (const rkv::Duration at : all) {
    CHECK(at == expected);
    expected += std::chrono::microseconds(1);
  }
}

TEST_CASE("constant arrivals keep their rate over a long time") {
  rkv::ArrivalProcess arrivals(open_loop("constant", 3), 0, 1);
  rkv::Duration last{0};
  for (int i = 0; i <= 300'000; ++i) {
    last = arrivals.next();
  }
  CHECK(last == std::chrono::seconds(100'000));
}

TEST_CASE("poisson arrivals have exponential gaps of the client's share of the rate") {
  const rkv::Scenario scenario = open_loop("poisson", 8000);
  rkv::ArrivalProcess arrivals(scenario, 1, 4);  // 2000 a second: 500 us on average
  constexpr int draws = 50'000;
  constexpr int cells = 20;
  std::vector<std::uint64_t> counts(cells);
  rkv::Duration last{0};
  for (int i = 0; i < draws; ++i) {
    const rkv::Duration at = arrivals.next();
    REQUIRE(at >= last);
    const double gap_us = static_cast<double>((at - last).count()) / 1000;
    const double quantile = 1 - std::exp(-gap_us / 500);
    ++counts[static_cast<std::size_t>(std::min(quantile * cells, cells - 1.0))];
    last = at;
  }
  CHECK(std::abs(rkv::excess_of_chi_square(counts, std::vector<double>(cells, 1.0 / cells), draws)) < 5);
  rkv::ArrivalProcess other(scenario, 2, 4);
  rkv::ArrivalProcess again(scenario, 1, 4);
  rkv::ArrivalProcess first(scenario, 1, 4);
  CHECK(first.next() == again.next());
  CHECK(first.next() != other.next());
}

TEST_CASE("an arrival that never comes is far away, not in the past") {
  rkv::Scenario scenario = open_loop("constant", 1);
  scenario.load.arrivals.rate_ops_s = 1e-300;
  rkv::ArrivalProcess arrivals(scenario, 1, 2);
  CHECK(arrivals.next() > std::chrono::hours(24 * 365));
  CHECK(arrivals.next() > std::chrono::hours(24 * 365));
}
